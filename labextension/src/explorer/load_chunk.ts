type Chunk = typeof import('./chunk.js');

/** Loads the explorer's code.  Rejects if the server does not have it, for example because nbtools was updated while the page was open. */
export async function loadChunk(): Promise<Chunk> {
  return import(/* webpackChunkName: "explorer" */ './chunk.js');
}
