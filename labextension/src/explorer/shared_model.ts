// Generated from nbtools/traces/sharing/model.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseTraceFacetRows, parseTraceLine, parseTraceOpened, parseTraceRows, parseTraceView, type TraceFacetRows, type TraceLine, type TraceOpened, type TraceRows, type TraceView } from './model.js';

/** The lines of a choice to filter by. */
export interface LinesOf {
  readonly key: string;
  readonly lines: readonly number[];
}
export const parseLinesOf: parse.Parser<LinesOf> = parse.record<LinesOf>({
  key: parse.text,
  lines: parse.list(parse.number),
});

/** A whole log. ``rows`` are those of all its lines, ``data`` their columns in base64, ``facets`` what they can be filtered by besides the chips of the rows.

``opened`` has the details of each line; ``note`` says what was removed and left out. */
export interface SharedLog {
  readonly view: TraceView;
  readonly rows: TraceRows;
  readonly data: string;
  readonly facets: readonly TraceFacetRows[];
  readonly lines: readonly TraceLine[];
  readonly chips: readonly LinesOf[];
  readonly opened: readonly TraceOpened[];
  readonly note: string;
}
export const parseSharedLog: parse.Parser<SharedLog> = parse.record<SharedLog>({
  view: parseTraceView,
  rows: parseTraceRows,
  data: parse.text,
  facets: parse.list(parseTraceFacetRows),
  lines: parse.list(parseTraceLine),
  chips: parse.list(parseLinesOf),
  opened: parse.list(parseTraceOpened),
  note: parse.text,
});
