// Generated from the methods of nbtools by labextension/scripts/wire_types.py: run `make wire` after a change there.

import type { AnswerMessage } from '../approval/model.js';
import type { ActParams, CancelParams, NotebookAnswer, ShowParams } from '../cards/model.js';
import type { BaselineParams, CompareWithParams, ComparedOutcomes, ComparedRows, ComparedRowsParams, ComparisonView, OpenRunParams, OutcomesParams } from '../comparison/model.js';
import type { LogParams, OpenedLogs, ReviewedLog, SavedFilters, SavedFiltersParams, TraceCell, TraceChanges, TraceExcerpts, TraceExcerptsParams, TraceExplorerParams, TraceExport, TraceFacets, TraceFileParams, TraceFollowParams, TraceHits, TraceLineParams, TraceOpened, TraceRaw, TraceReview, TraceReviewParams, TraceRows, TraceRowsParams, TraceSampleParams, TraceSamples, TraceSearchParams, TraceShare, TraceShareParams, TraceStrip, TraceStripParams, TraceTokens, TraceUpdate, TraceUsage, TraceUsageParams, TraceVersionParams } from '../explorer/model.js';
import type { CheckParams, CheckedCall, FormParams, FormTools, RulesCell, RulesParams, ToolForm } from '../lab/model.js';
import type { CallParams, ConfirmParams, GrantParams, ModeParams, SeenParams, ServerParams, StateOutcome, UndoParams } from '../panel/model.js';
import type { AddFolderParams, AddedFolder, FoundSessions, LeftOutFiles, LeftOutParams, NextReviewParams, OpenSessionsParams, ReviewSessionsParams, SearchSessionsParams, SessionReviews, SessionReviewsParams, SessionRows, SessionRowsParams, SessionTotals, SessionTotalsParams } from '../sessions/model.js';

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
  'logs.open': { readonly params: LogParams; readonly result: OpenedLogs };
  'panel.answer': { readonly params: AnswerMessage; readonly result: StateOutcome };
  'panel.confirm': { readonly params: ConfirmParams; readonly result: StateOutcome };
  'panel.diff': { readonly params: CallParams; readonly result: StateOutcome };
  'panel.mode': { readonly params: ModeParams; readonly result: StateOutcome };
  'panel.revoke': { readonly params: GrantParams; readonly result: StateOutcome };
  'panel.seen': { readonly params: SeenParams; readonly result: undefined };
  'panel.server': { readonly params: ServerParams; readonly result: StateOutcome };
  'panel.start': { readonly params: Readonly<Record<string, never>>; readonly result: StateOutcome };
  'panel.stop': { readonly params: CallParams; readonly result: StateOutcome };
  'panel.undo': { readonly params: UndoParams; readonly result: StateOutcome };
  'sessions.add_folder': { readonly params: AddFolderParams; readonly result: AddedFolder };
  'sessions.left_out': { readonly params: LeftOutParams; readonly result: LeftOutFiles };
  'sessions.next': { readonly params: NextReviewParams; readonly result: ReviewedLog };
  'sessions.open': { readonly params: OpenSessionsParams; readonly result: OpenedLogs };
  'sessions.review': { readonly params: ReviewSessionsParams; readonly result: SessionReviews };
  'sessions.reviews': { readonly params: SessionReviewsParams; readonly result: SessionReviews };
  'sessions.rows': { readonly params: SessionRowsParams; readonly result: SessionRows & Buffers };
  'sessions.search': { readonly params: SearchSessionsParams; readonly result: FoundSessions & Buffers };
  'sessions.totals': { readonly params: SessionTotalsParams; readonly result: SessionTotals };
  'state.follow': { readonly params: Readonly<Record<string, never>>; readonly result: undefined };
  'state.leave': { readonly params: Readonly<Record<string, never>>; readonly result: undefined };
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
  'trace.sample': { readonly params: TraceSampleParams; readonly result: TraceOpened };
  'trace.samples': { readonly params: TraceExplorerParams; readonly result: TraceSamples & Buffers };
  'trace.saved_filters': { readonly params: SavedFiltersParams; readonly result: SavedFilters };
  'trace.search': { readonly params: TraceSearchParams; readonly result: TraceHits & Buffers };
  'trace.sessions': { readonly params: TraceExplorerParams; readonly result: OpenedLogs };
  'trace.share': { readonly params: TraceShareParams; readonly result: TraceShare };
  'trace.strip': { readonly params: TraceStripParams; readonly result: TraceStrip };
  'trace.tokens': { readonly params: TraceVersionParams; readonly result: TraceTokens & Buffers };
  'trace.usage': { readonly params: TraceUsageParams; readonly result: TraceUsage };
}
