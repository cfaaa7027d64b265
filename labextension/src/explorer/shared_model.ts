// Generated from nbtools/traces/sharing/model.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseTraceLine, parseTraceOpened, parseTraceView, type TraceLine, type TraceOpened, type TraceView } from './model.js';

/** The lines of a choice to filter by. */
export interface LinesOf {
  readonly key: string;
  readonly lines: readonly number[];
}
export const parseLinesOf: parse.Parser<LinesOf> = parse.record<LinesOf>({
  key: parse.text,
  lines: parse.list(parse.number),
});

/** A whole log. ``opened`` has the details of each line; ``note`` says what was removed and left out. */
export interface SharedLog {
  readonly view: TraceView;
  readonly lines: readonly TraceLine[];
  readonly chips: readonly LinesOf[];
  readonly opened: readonly TraceOpened[];
  readonly note: string;
}
export const parseSharedLog: parse.Parser<SharedLog> = parse.record<SharedLog>({
  view: parseTraceView,
  lines: parse.list(parseTraceLine),
  chips: parse.list(parseLinesOf),
  opened: parse.list(parseTraceOpened),
  note: parse.text,
});
