/** What is loaded with the first list of sessions, or the first comparison, of a page: import this module only with `loadSessions`. */
export { ComparisonPage } from '../comparison/comparison.js';
export { SessionsListView } from './sessions.js';
