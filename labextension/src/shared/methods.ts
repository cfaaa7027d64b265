// Generated from the methods of nbtools by labextension/scripts/wire_types.py: run `make wire` after a change there.

import type { ActParams, CancelParams, NotebookAnswer, ShowParams } from '../cards/model.js';
import type { BaselineParams, CompareWithParams, ComparedOutcomes, ComparedRows, ComparedRowsParams, ComparisonView, OpenRunParams, OutcomesParams } from '../comparison/model.js';
import type { OpenedLogs, SavedFilters, SavedFiltersParams, TraceCell, TraceChanges, TraceExcerpts, TraceExcerptsParams, TraceExplorerParams, TraceExport, TraceFacets, TraceFileParams, TraceFollowParams, TraceHits, TraceLineParams, TraceOpened, TraceRaw, TraceReview, TraceReviewParams, TraceRows, TraceRowsParams, TraceSearchParams, TraceShare, TraceShareParams, TraceStrip, TraceStripParams, TraceTokens, TraceUpdate, TraceUsage, TraceUsageParams, TraceVersionParams } from '../explorer/model.js';
import type { CheckParams, CheckedCall, FormParams, FormTools, RulesCell, RulesParams, ToolForm } from '../lab/model.js';
import type { FoundSessions, OpenSessionsParams, SearchSessionsParams, SessionRows, SessionRowsParams } from '../sessions/model.js';

/** Name of the comm target. */
export const CHANNEL_TARGET = 'nbtools';

/** Binary data that follows a result. */
export interface Buffers {
  readonly buffers: readonly ArrayBuffer[];
}

/** The methods that a page calls: their parameters and results. */
export interface Methods {
  'cards.act': { readonly params: ActParams; readonly result: undefined };
  'cards.cancel': { readonly params: CancelParams; readonly result: undefined };
  'cards.show': { readonly params: ShowParams; readonly result: undefined };
  'cells.answer': { readonly params: NotebookAnswer; readonly result: undefined };
  'comparison.baseline': { readonly params: BaselineParams; readonly result: ComparisonView };
  'comparison.open_run': { readonly params: OpenRunParams; readonly result: OpenedLogs };
  'comparison.outcomes': { readonly params: OutcomesParams; readonly result: ComparedOutcomes };
  'comparison.rows': { readonly params: ComparedRowsParams; readonly result: ComparedRows & Buffers };
  'forms.check': { readonly params: CheckParams; readonly result: CheckedCall };
  'forms.form': { readonly params: FormParams; readonly result: ToolForm };
  'forms.rules': { readonly params: RulesParams; readonly result: RulesCell };
  'forms.tools': { readonly params: Readonly<Record<string, never>>; readonly result: FormTools };
  'sessions.open': { readonly params: OpenSessionsParams; readonly result: OpenedLogs };
  'sessions.rows': { readonly params: SessionRowsParams; readonly result: SessionRows & Buffers };
  'sessions.search': { readonly params: SearchSessionsParams; readonly result: FoundSessions };
  'trace.cell': { readonly params: TraceExplorerParams; readonly result: TraceCell };
  'trace.changes': { readonly params: TraceExplorerParams; readonly result: TraceChanges };
  'trace.compare_with': { readonly params: CompareWithParams; readonly result: OpenedLogs };
  'trace.excerpts': { readonly params: TraceExcerptsParams; readonly result: TraceExcerpts };
  'trace.facets': { readonly params: TraceExplorerParams; readonly result: TraceFacets };
  'trace.file_diff': { readonly params: TraceFileParams; readonly result: TraceOpened };
  'trace.follow': { readonly params: TraceFollowParams; readonly result: TraceUpdate & Buffers };
  'trace.notebook': { readonly params: TraceExplorerParams; readonly result: TraceExport };
  'trace.open': { readonly params: TraceLineParams; readonly result: TraceOpened };
  'trace.raw': { readonly params: TraceLineParams; readonly result: TraceRaw };
  'trace.review': { readonly params: TraceReviewParams; readonly result: TraceReview };
  'trace.rows': { readonly params: TraceRowsParams; readonly result: TraceRows & Buffers };
  'trace.samples': { readonly params: TraceExplorerParams; readonly result: TraceUsage };
  'trace.saved_filters': { readonly params: SavedFiltersParams; readonly result: SavedFilters };
  'trace.search': { readonly params: TraceSearchParams; readonly result: TraceHits & Buffers };
  'trace.sessions': { readonly params: TraceExplorerParams; readonly result: OpenedLogs };
  'trace.share': { readonly params: TraceShareParams; readonly result: TraceShare };
  'trace.strip': { readonly params: TraceStripParams; readonly result: TraceStrip };
  'trace.tokens': { readonly params: TraceVersionParams; readonly result: TraceTokens & Buffers };
  'trace.usage': { readonly params: TraceUsageParams; readonly result: TraceUsage };
}
