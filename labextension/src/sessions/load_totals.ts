type Totals = typeof import('./totals_page.js');

/** Loads the code of the page of totals.  A widget, which is one file, has it already. */
export async function loadTotals(): Promise<Totals> {
  return import(/* webpackChunkName: "totals" */ './totals_page.js');
}
