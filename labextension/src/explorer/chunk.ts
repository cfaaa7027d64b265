/** What is loaded with the first explorer, log tab or comparison of a page: import this module only with `loadChunk`. */
export { CellTarget } from './cell_target.js';
export { LogAddresses } from './log_address.js';
export { LogSession } from './log_session.js';
export { LogView } from './log_view.js';
export { RenderedPage } from './renderer.js';
