type Samples = typeof import('./samples_view.js');

/** Loads the code of the table of samples.  A widget, which is one file, has it already. */
export async function loadSamples(): Promise<Samples> {
  return import(/* webpackChunkName: "samples" */ './samples_view.js');
}
