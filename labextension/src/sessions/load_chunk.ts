type Chunk = typeof import('./chunk.js');

/** Loads the code of the list of sessions and of comparisons.  A widget, which is one file, has it already. */
export async function loadSessions(): Promise<Chunk> {
  return import(/* webpackChunkName: "sessions" */ './chunk.js');
}
