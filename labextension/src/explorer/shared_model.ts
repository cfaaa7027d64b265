// Generated from nbtools/traces/sharing/model.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseTraceFacetRows, parseTraceOpened, parseTraceRows, parseTraceView, type TraceFacetRows, type TraceOpened, type TraceRows, type TraceView } from './model.js';

/** A whole log. ``rows`` are those of all its lines, ``facets`` what they can be filtered by besides the chips of the rows. ``data`` has their columns: the low byte of each character is a byte of the buffer.

``opened`` has the details of each line; ``note`` says what was removed and left out. */
export interface SharedLog {
  readonly view: TraceView;
  readonly rows: TraceRows;
  readonly data: string;
  readonly facets: readonly TraceFacetRows[];
  readonly opened: readonly TraceOpened[];
  readonly note: string;
}
export const parseSharedLog: parse.Parser<SharedLog> = parse.record<SharedLog>({
  view: parseTraceView,
  rows: parseTraceRows,
  data: parse.text,
  facets: parse.list(parseTraceFacetRows),
  opened: parse.list(parseTraceOpened),
  note: parse.text,
});
