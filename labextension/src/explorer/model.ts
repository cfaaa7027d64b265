// Generated from nbtools/traces/explorer/explorer_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseCard, type Card, type Span } from '../cards/model.js';
import { parseColumnBlock, type ColumnBlock } from '../shared/columns_model.js';
import { parseAddedFolder, parseFoundSessions, parseLeftOutFiles, parseSessionTotals, parseSessionReviews, parseSessionRows, parseSessionsView, type SessionsView } from '../sessions/model.js';
import { parseComparedOutcomes, parseComparedRows, parseComparisonView, type ComparisonView } from '../comparison/model.js';

/** Asks a kernel of log tabs to open one log, or to compare several; none: for the list of all sessions.

A log is a path relative to the kernel's working directory, or ``session:`` and the id of a listed session. ``step`` is the number of the step at which a single log begins, or ``search:`` and a text: the explorer searches for it, and begins at the first step that contains it. */
export interface LogParams {
  readonly logs: readonly string[];
  readonly step: string;
}

/** The agreement with another reviewer on ``items`` verdicts; ``kappa`` is Cohen's κ, if it is defined, ``low`` and ``high`` are the limits of its 95 % interval, if there is one. */
export interface ReviewAgreement {
  readonly reviewer: string;
  readonly items: number;
  readonly kappa: number | null;
  readonly low: number | null;
  readonly high: number | null;
}
export const parseReviewAgreement: parse.Parser<ReviewAgreement> = parse.record<ReviewAgreement>({
  reviewer: parse.text,
  items: parse.number,
  kappa: parse.otherwise(parse.nullable(parse.number), null),
  low: parse.otherwise(parse.nullable(parse.number), null),
  high: parse.otherwise(parse.nullable(parse.number), null),
});

/** A code of the code book. */
export interface ReviewCode {
  readonly name: string;
  readonly key: string;
  readonly description: string;
}
export const parseReviewCode: parse.Parser<ReviewCode> = parse.record<ReviewCode>({
  name: parse.text,
  key: parse.otherwise(parse.text, ''),
  description: parse.otherwise(parse.text, ''),
});

/** A filter with a name: the steps that match the text and have one of the chips of each facet.

``chips`` are keys of choices; ``order`` lists the steps with the most tokens, or the longest calls, first. They mean the same in every log. */
export interface SavedFilter {
  readonly name: string;
  readonly text: string;
  readonly chips: readonly string[];
  readonly order: '' | 'tokens' | 'duration';
}
export const parseSavedFilter: parse.Parser<SavedFilter> = parse.record<SavedFilter>({
  name: parse.text,
  text: parse.otherwise(parse.text, ''),
  chips: parse.otherwise(parse.list(parse.text), []),
  order: parse.otherwise(parse.oneOf('', 'tokens', 'duration'), ''),
});

/** One bar, for the lines ``first`` … ``last`` of the log.

``start`` and ``end`` are positions on the axis in ten-thousandths. ``parts`` are the heights of its sections from the bottom, in thousandths: new input, cached input, output; empty for a bar of full height. ``failed`` is the share of its calls that failed, in thousandths; at least 1 if one has. ``label`` describes it. */
export interface StripBar {
  readonly first: number;
  readonly last: number;
  readonly start: number;
  readonly end: number;
  readonly lane: number;
  readonly parts: readonly number[];
  readonly tone: 'person' | 'agent' | 'quiet' | 'done' | 'changed' | 'failed' | 'stopped' | 'unknown';
  readonly failed: number;
  readonly mark: '' | 'cache' | 'compaction' | 'waiting';
  readonly label: string;
}
export const parseStripBar: parse.Parser<StripBar> = parse.record<StripBar>({
  first: parse.number,
  last: parse.number,
  start: parse.number,
  end: parse.number,
  lane: parse.otherwise(parse.number, 0),
  parts: parse.otherwise(parse.list(parse.number), []),
  tone: parse.otherwise(parse.oneOf('person', 'agent', 'quiet', 'done', 'changed', 'failed', 'stopped', 'unknown'), 'quiet'),
  failed: parse.otherwise(parse.number, 0),
  mark: parse.otherwise(parse.oneOf('', 'cache', 'compaction', 'waiting'), ''),
  label: parse.otherwise(parse.text, ''),
});

export interface StripTick {
  readonly at: number;
  readonly label: string;
}
export const parseStripTick: parse.Parser<StripTick> = parse.record<StripTick>({
  at: parse.number,
  label: parse.text,
});

/** One bar of the overview, for the lines ``first`` … ``last``; ``height`` is a percentage. ``failed`` counts the lines that failed. */
export interface TraceBar {
  readonly first: number;
  readonly last: number;
  readonly height: number;
  readonly tone: 'person' | 'agent' | 'quiet' | 'done' | 'changed' | 'failed' | 'stopped' | 'unknown';
  readonly failed: number;
}
export const parseTraceBar: parse.Parser<TraceBar> = parse.record<TraceBar>({
  first: parse.number,
  last: parse.number,
  height: parse.number,
  tone: parse.oneOf('person', 'agent', 'quiet', 'done', 'changed', 'failed', 'stopped', 'unknown'),
  failed: parse.otherwise(parse.number, 0),
});

/** The source of a cell, for the person to complete or edit. */
export interface TraceCell {
  readonly source: string;
}
export const parseTraceCell: parse.Parser<TraceCell> = parse.record<TraceCell>({
  source: parse.text,
});

/** Text that links to a ``line``, or to all steps of the file whose key among the filter's is ``path``. */
export interface TraceLink {
  readonly text: string;
  readonly line: number | null;
  readonly path: string;
}
export const parseTraceLink: parse.Parser<TraceLink> = parse.record<TraceLink>({
  text: parse.text,
  line: parse.otherwise(parse.nullable(parse.number), null),
  path: parse.otherwise(parse.text, ''),
});

/** A property of steps to filter by; its id is its position among all chips of the explorer.

``facet`` is its group, ``key`` goes into a filter, ``title`` explains it. */
export interface TraceChip {
  readonly facet: string;
  readonly key: string;
  readonly label: string;
  readonly title: string;
}
export const parseTraceChip: parse.Parser<TraceChip> = parse.record<TraceChip>({
  facet: parse.text,
  key: parse.text,
  label: parse.text,
  title: parse.otherwise(parse.text, ''),
});

/** A value to filter by, and its lines; ``key`` goes into a filter, ``title`` explains it. */
export interface TraceChoiceLines {
  readonly key: string;
  readonly label: string;
  readonly title: string;
  readonly lines: readonly number[];
}
export const parseTraceChoiceLines: parse.Parser<TraceChoiceLines> = parse.record<TraceChoiceLines>({
  key: parse.text,
  label: parse.text,
  title: parse.otherwise(parse.text, ''),
  lines: parse.otherwise(parse.list(parse.number), []),
});

/** One line around the hits of each of the lines; empty where the page has another version. */
export interface TraceExcerpts {
  readonly version: number;
  readonly excerpts: readonly (readonly Span[])[];
}
export const parseTraceExcerpts: parse.Parser<TraceExcerpts> = parse.record<TraceExcerpts>({
  version: parse.number,
  excerpts: parse.otherwise(parse.list(parse.list(parse.pair)), []),
});

export interface TraceExcerptsParams {
  readonly explorer: string;
  readonly version: number;
  readonly text: string;
  readonly lines: readonly number[];
}

/** The parameters of methods that need no more than the explorer. */
export interface TraceExplorerParams {
  readonly explorer: string;
}

/** The notebook that was written.

``path`` is absolute; ``place`` is relative to the folder of the requesting notebook, empty if there is no relative path. */
export interface TraceExport {
  readonly path: string;
  readonly place: string;
}
export const parseTraceExport: parse.Parser<TraceExport> = parse.record<TraceExport>({
  path: parse.text,
  place: parse.otherwise(parse.text, ''),
});

/** A format of other tools. ``about`` says what it is and what it loses; ``notes``: it can have the labels of the review. */
export interface TraceExportFormat {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly notes: boolean;
}
export const parseTraceExportFormat: parse.Parser<TraceExportFormat> = parse.record<TraceExportFormat>({
  name: parse.text,
  label: parse.text,
  about: parse.text,
  notes: parse.flag,
});

/** ``doubt`` says why the fact is unreliable; ``bad`` marks bad news; ``title`` says what is counted. */
export interface TraceFact {
  readonly text: string;
  readonly doubt: string;
  readonly bad: boolean;
  readonly title: string;
}
export const parseTraceFact: parse.Parser<TraceFact> = parse.record<TraceFact>({
  text: parse.text,
  doubt: parse.otherwise(parse.text, ''),
  bad: parse.otherwise(parse.flag, false),
  title: parse.otherwise(parse.text, ''),
});

/** The key of a file that the session changed. */
export interface TraceFileParams {
  readonly explorer: string;
  readonly path: string;
}

/** Asks what was written to the log since ``version``, which the page shows.

``log`` is the name of the file in which the session goes on, if the person goes on to it. ``chips`` is how many chips the page knows. */
export interface TraceFollowParams {
  readonly explorer: string;
  readonly version: number;
  readonly log: string;
  readonly chips: number;
}

/** A record in force.

``step`` names its place: ``46``, ``46–52``, or empty for the session; ``line`` is its first line, None where it has none. ``code`` is what a note was sorted under. ``lost`` says why its place is not certain, empty if it is. */
export interface TraceLabel {
  readonly id: string;
  readonly kind: 'note' | 'label' | 'verdict';
  readonly value: string;
  readonly reviewer: string;
  readonly mine: boolean;
  readonly step: string;
  readonly line: number | null;
  readonly last: number | null;
  readonly span: string;
  readonly code: string;
  readonly lost: string;
}
export const parseTraceLabel: parse.Parser<TraceLabel> = parse.record<TraceLabel>({
  id: parse.text,
  kind: parse.oneOf('note', 'label', 'verdict'),
  value: parse.text,
  reviewer: parse.text,
  mine: parse.flag,
  step: parse.otherwise(parse.text, ''),
  line: parse.otherwise(parse.nullable(parse.number), null),
  last: parse.otherwise(parse.nullable(parse.number), null),
  span: parse.otherwise(parse.text, ''),
  code: parse.otherwise(parse.text, ''),
  lost: parse.otherwise(parse.text, ''),
});

/** The parameters of methods that are about one line. */
export interface TraceLineParams {
  readonly explorer: string;
  readonly line: number;
}

/** A mark on a line of the list; ``title`` explains it. */
export interface TraceMark {
  readonly line: number;
  readonly tone: 'pass' | 'fail' | 'defer' | 'label' | 'note' | 'signal';
  readonly text: string;
  readonly title: string;
}
export const parseTraceMark: parse.Parser<TraceMark> = parse.record<TraceMark>({
  line: parse.number,
  tone: parse.oneOf('pass', 'fail', 'defer', 'label', 'note', 'signal'),
  text: parse.text,
  title: parse.otherwise(parse.text, ''),
});

/** ``count`` lines from ``first`` on are now the lines from ``to`` on. */
export interface TraceMove {
  readonly first: number;
  readonly to: number;
  readonly count: number;
}
export const parseTraceMove: parse.Parser<TraceMove> = parse.record<TraceMove>({
  first: parse.number,
  to: parse.number,
  count: parse.number,
});

/** The bytes as text; ``note`` says what was left out. */
export interface TraceRaw {
  readonly text: string;
  readonly note: string;
}
export const parseTraceRaw: parse.Parser<TraceRaw> = parse.record<TraceRaw>({
  text: parse.text,
  note: parse.otherwise(parse.text, ''),
});

/** Reads or changes the review of the log, in the name of ``reviewer`` (empty: the default one).

``line`` … ``last`` are the lines to review (both inclusive), as numbered in ``version`` of the log; None for the whole session. ``value`` is a note's text, a code or a verdict, ``span`` a text that the person selected, ``label`` the record to withdraw or to sort. */
export interface TraceReviewParams {
  readonly explorer: string;
  readonly action: 'read' | 'note' | 'label' | 'verdict' | 'sort' | 'withdraw' | 'undo';
  readonly reviewer: string;
  readonly line: number | null;
  readonly last: number | null;
  readonly version: number;
  readonly value: string;
  readonly span: string;
  readonly label: string;
  readonly order: 'random' | 'stratified' | 'recorded';
  readonly seed: number;
}

/** ``count`` rows from line ``first`` on; ``chips`` is how many chips the page knows already. */
export interface TraceRowsParams {
  readonly explorer: string;
  readonly version: number;
  readonly first: number;
  readonly count: number;
  readonly chips: number;
}

/** A sample by its number in the order of the log, from 0. */
export interface TraceSampleParams {
  readonly explorer: string;
  readonly sample: number;
}

export interface TraceSearchParams {
  readonly explorer: string;
  readonly version: number;
  readonly text: string;
}

/** A secret that is removed, or stays if ``kept``: its kind, its beginning, how many steps contain it, and the first of these. */
export interface TraceSecret {
  readonly id: string;
  readonly kind: string;
  readonly shown: string;
  readonly count: number;
  readonly places: string;
  readonly kept: boolean;
}
export const parseTraceSecret: parse.Parser<TraceSecret> = parse.record<TraceSecret>({
  id: parse.text,
  kind: parse.text,
  shown: parse.text,
  count: parse.number,
  places: parse.text,
  kept: parse.otherwise(parse.flag, false),
});

/** The options of a file to share; ``write``: it is written into the kernel's working directory. ``format`` is ``html`` for a page, or the name of a format of other tools (``TraceExportFormat``).

``patterns`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay; ``home``: home folders become ``~``. ``notes``: the review's notes, labels and verdicts are in the file. */
export interface TraceShareParams {
  readonly explorer: string;
  readonly patterns: readonly string[];
  readonly keep: readonly string[];
  readonly home: boolean;
  readonly notes: boolean;
  readonly format: string;
  readonly write: boolean;
}

/** The overview over time, or over the tokens of the requests. */
export interface TraceStripParams {
  readonly explorer: string;
  readonly mode: 'time' | 'tokens';
}

/** Asks where tokens, money and time went; with ``prices``, what the requests cost by price lists. */
export interface TraceUsageParams {
  readonly explorer: string;
  readonly prices: boolean;
}

/** The parameters of methods that are about all lines of a version. */
export interface TraceVersionParams {
  readonly explorer: string;
  readonly version: number;
}

/** A row of a table: ``cells`` are the texts of its columns, ``share`` the length of its bar in percent. ``hints`` say more about cells on hover; those at the end may be missing.

A click lists the steps of the choice ``chip``, searches for ``text``, or goes to ``line``. */
export interface UsageRow {
  readonly cells: readonly string[];
  readonly hints: readonly string[];
  readonly share: number;
  readonly chip: string;
  readonly text: string;
  readonly line: number | null;
}
export const parseUsageRow: parse.Parser<UsageRow> = parse.record<UsageRow>({
  cells: parse.list(parse.text),
  hints: parse.otherwise(parse.list(parse.text), []),
  share: parse.otherwise(parse.number, 0),
  chip: parse.otherwise(parse.text, ''),
  text: parse.otherwise(parse.text, ''),
  line: parse.otherwise(parse.nullable(parse.number), null),
});

/** All saved filters, by name. */
export interface SavedFilters {
  readonly filters: readonly SavedFilter[];
}
export const parseSavedFilters: parse.Parser<SavedFilters> = parse.record<SavedFilters>({
  filters: parse.list(parseSavedFilter),
});

/** Asks for the saved filters, after saving ``filter``, or renaming or deleting the one named. */
export interface SavedFiltersParams {
  readonly explorer: string;
  readonly action: 'list' | 'save' | 'rename' | 'delete';
  readonly name: string;
  readonly to: string;
  readonly filter: SavedFilter | null;
}

/** An overview: ``lanes`` rows of bars with ``names``. ``note`` says why there are none, or not all. */
export interface TraceStrip {
  readonly mode: 'time' | 'tokens';
  readonly lanes: number;
  readonly names: readonly string[];
  readonly bars: readonly StripBar[];
  readonly ticks: readonly StripTick[];
  readonly note: string;
}
export const parseTraceStrip: parse.Parser<TraceStrip> = parse.record<TraceStrip>({
  mode: parse.oneOf('time', 'tokens'),
  lanes: parse.otherwise(parse.number, 1),
  names: parse.otherwise(parse.list(parse.text), []),
  bars: parse.otherwise(parse.list(parseStripBar), []),
  ticks: parse.otherwise(parse.list(parseStripTick), []),
  note: parse.otherwise(parse.text, ''),
});

/** A file that was changed.

``path`` is its key, ``kind`` empty, or new, deleted or renamed. ``added`` and ``removed`` are lines, None if the log does not tell; ``complete``: they count all changes. */
export interface TraceChangedFile {
  readonly path: string;
  readonly label: string;
  readonly kind: string;
  readonly changes: number;
  readonly added: number | null;
  readonly removed: number | null;
  readonly complete: boolean;
  readonly steps: readonly TraceLink[];
}
export const parseTraceChangedFile: parse.Parser<TraceChangedFile> = parse.record<TraceChangedFile>({
  path: parse.text,
  label: parse.text,
  kind: parse.otherwise(parse.text, ''),
  changes: parse.number,
  added: parse.otherwise(parse.nullable(parse.number), null),
  removed: parse.otherwise(parse.nullable(parse.number), null),
  complete: parse.otherwise(parse.flag, true),
  steps: parse.otherwise(parse.list(parseTraceLink), []),
});

/** One entry of a step's context. ``label``: Why, Before, Approved …; ``parts`` are shown in one line. */
export interface TraceContext {
  readonly label: string;
  readonly parts: readonly TraceLink[];
}
export const parseTraceContext: parse.Parser<TraceContext> = parse.record<TraceContext>({
  label: parse.text,
  parts: parse.list(parseTraceLink),
});

/** Choices of one kind, of which a step must have a chosen one; ``menu``: in a menu instead of chips. */
export interface TraceFacetRows {
  readonly name: string;
  readonly label: string;
  readonly menu: boolean;
  readonly choices: readonly TraceChoiceLines[];
}
export const parseTraceFacetRows: parse.Parser<TraceFacetRows> = parse.record<TraceFacetRows>({
  name: parse.text,
  label: parse.text,
  menu: parse.otherwise(parse.flag, false),
  choices: parse.otherwise(parse.list(parseTraceChoiceLines), []),
});

/** The initial view. ``total`` counts all lines.

``step`` is the line to begin at, ``search`` the text to search for, ``failure`` the first line that failed, ``changed`` the number of changed files, ``samples`` of samples of an evaluation. ``actions`` are offered for the whole log. ``version`` counts how often the lines have changed; ``fresh`` is as in ``TraceFollow``. */
export interface TraceView {
  readonly explorer: string;
  readonly title: string;
  readonly facts: readonly TraceFact[];
  readonly bars: readonly TraceBar[];
  readonly total: number;
  readonly step: number | null;
  readonly search: string;
  readonly failure: number | null;
  readonly changed: number;
  readonly samples: number;
  readonly actions: readonly ('compare' | 'notebook' | 'share' | 'export' | 'sql')[];
  readonly version: number;
  readonly fresh: boolean;
}
export const parseTraceView: parse.Parser<TraceView> = parse.record<TraceView>({
  explorer: parse.text,
  title: parse.text,
  facts: parse.list(parseTraceFact),
  bars: parse.list(parseTraceBar),
  total: parse.otherwise(parse.number, 0),
  step: parse.otherwise(parse.nullable(parse.number), null),
  search: parse.otherwise(parse.text, ''),
  failure: parse.otherwise(parse.nullable(parse.number), null),
  changed: parse.otherwise(parse.number, 0),
  samples: parse.otherwise(parse.number, 0),
  actions: parse.otherwise(parse.list(parse.oneOf('compare', 'notebook', 'share', 'export', 'sql')), []),
  version: parse.otherwise(parse.number, 0),
  fresh: parse.otherwise(parse.flag, false),
});

/** The review of the log. ``labels`` are the latest of the ``records`` in force.

``done`` of ``total`` steps or sessions have a verdict of the reviewer; ``following`` is the line of the next one without, None if there is none. ``message`` says what was done. ``complete`` is False while signals are still looked for. ``judged``: the reviewer has given a verdict on each session of the log. ``hidden``: the reader is blind, and what others wrote is left out. Lines are those of ``version`` of the log. */
export interface TraceReview {
  readonly reviewer: string;
  readonly codes: readonly ReviewCode[];
  readonly labels: readonly TraceLabel[];
  readonly records: number;
  readonly marks: readonly TraceMark[];
  readonly agreements: readonly ReviewAgreement[];
  readonly done: number;
  readonly total: number;
  readonly sessions: boolean;
  readonly judged: boolean;
  readonly hidden: boolean;
  readonly following: number | null;
  readonly message: string;
  readonly complete: boolean;
  readonly version: number;
}
export const parseTraceReview: parse.Parser<TraceReview> = parse.record<TraceReview>({
  reviewer: parse.text,
  codes: parse.list(parseReviewCode),
  labels: parse.list(parseTraceLabel),
  records: parse.otherwise(parse.number, 0),
  marks: parse.list(parseTraceMark),
  agreements: parse.otherwise(parse.list(parseReviewAgreement), []),
  done: parse.otherwise(parse.number, 0),
  total: parse.otherwise(parse.number, 0),
  sessions: parse.otherwise(parse.flag, false),
  judged: parse.otherwise(parse.flag, false),
  hidden: parse.otherwise(parse.flag, false),
  following: parse.otherwise(parse.nullable(parse.number), null),
  message: parse.otherwise(parse.text, ''),
  complete: parse.otherwise(parse.flag, true),
  version: parse.otherwise(parse.number, 0),
});

/** The content of a shared file: its size in bytes, 0 for one that is not a page, and what was removed. ``path`` is the file that was written.

``notes`` counts the notes, labels and verdicts that can be in it. */
export interface TraceShare {
  readonly size: number;
  readonly formats: readonly TraceExportFormat[];
  readonly secrets: readonly TraceSecret[];
  readonly notes: number;
  readonly path: string;
}
export const parseTraceShare: parse.Parser<TraceShare> = parse.record<TraceShare>({
  size: parse.number,
  formats: parse.otherwise(parse.list(parseTraceExportFormat), []),
  secrets: parse.list(parseTraceSecret),
  notes: parse.otherwise(parse.number, 0),
  path: parse.otherwise(parse.text, ''),
});

/** A table of the breakdown; ``note`` explains its numbers, ``hints`` its columns on hover. ``mark`` says in a word how far they can be trusted, ``mark_hint`` on hover what that means. */
export interface UsageTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly UsageRow[];
  readonly note: string;
  readonly hints: readonly string[];
  readonly mark: string;
  readonly mark_hint: string;
}
export const parseUsageTable: parse.Parser<UsageTable> = parse.record<UsageTable>({
  title: parse.text,
  columns: parse.list(parse.text),
  rows: parse.list(parseUsageRow),
  note: parse.otherwise(parse.text, ''),
  hints: parse.otherwise(parse.list(parse.text), []),
  mark: parse.otherwise(parse.text, ''),
  mark_hint: parse.otherwise(parse.text, ''),
});

/** The lines that contain a text, in order, as the column ``line`` (u32); None where the page has another version.

``indexed`` is the percentage of the log that was searched: below 100, the same request finds more a moment later. */
export interface TraceHits {
  readonly version: number;
  readonly indexed: number;
  readonly block: ColumnBlock | null;
}
export const parseTraceHits: parse.Parser<TraceHits> = parse.record<TraceHits>({
  version: parse.number,
  indexed: parse.otherwise(parse.number, 100),
  block: parse.otherwise(parse.nullable(parseColumnBlock), null),
});

/** Rows of a log; None where the page has another version. ``total`` counts all lines of the log.

The columns of ``block`` are ``number subject`` (text), ``icon name right tone`` (word), ``depth`` (u16), ``below added removed`` (u32), ``flags`` (u8: 1 a call, 2 live, so not on a rewound branch), ``seconds`` (f64, the duration of a call) and ``chips`` (list). ``chips`` are those from the id ``first_chip`` on. */
export interface TraceRows {
  readonly version: number;
  readonly first: number;
  readonly total: number;
  readonly block: ColumnBlock | null;
  readonly first_chip: number;
  readonly chips: readonly TraceChip[];
}
export const parseTraceRows: parse.Parser<TraceRows> = parse.record<TraceRows>({
  version: parse.number,
  first: parse.otherwise(parse.number, 0),
  total: parse.number,
  block: parse.otherwise(parse.nullable(parseColumnBlock), null),
  first_chip: parse.otherwise(parse.number, 0),
  chips: parse.otherwise(parse.list(parseTraceChip), []),
});

/** The first of ``total`` samples, in the order of the log.

The columns of ``block`` are ``id input target answer error`` (text, the beginnings), ``outcome limit`` (word), ``epoch tokens scorer_tokens seconds`` (f64, NaN where they are not known), ``line`` (f64, the first line of the sample's session, NaN where it has none), and for each of the ``scorers`` by its number ``score0`` … (text) and ``value0`` … (f64): what to sort its scores by, NaN for those that are no numbers. */
export interface TraceSamples {
  readonly total: number;
  readonly scorers: readonly string[];
  readonly block: ColumnBlock;
}
export const parseTraceSamples: parse.Parser<TraceSamples> = parse.record<TraceSamples>({
  total: parse.number,
  scorers: parse.list(parse.text),
  block: parseColumnBlock,
});

/** The requests of all lines: ``tokens`` (f64) and ``text`` (word) of the request that begins at a line; None where the page has another version. */
export interface TraceTokens {
  readonly version: number;
  readonly block: ColumnBlock | null;
}
export const parseTraceTokens: parse.Parser<TraceTokens> = parse.record<TraceTokens>({
  version: parse.number,
  block: parse.otherwise(parse.nullable(parseColumnBlock), null),
});

/** The first of ``total`` changed files. */
export interface TraceChanges {
  readonly files: readonly TraceChangedFile[];
  readonly total: number;
}
export const parseTraceChanges: parse.Parser<TraceChanges> = parse.record<TraceChanges>({
  files: parse.list(parseTraceChangedFile),
  total: parse.number,
});

/** All facets besides the chips of the rows; their lines are those of ``version``. */
export interface TraceFacets {
  readonly version: number;
  readonly facets: readonly TraceFacetRows[];
}
export const parseTraceFacets: parse.Parser<TraceFacets> = parse.record<TraceFacets>({
  version: parse.number,
  facets: parse.list(parseTraceFacetRows),
});

/** The view of a session that was opened to be reviewed, with its id in the list and the reviewer's name; None if no session is left. ``skipped`` says why others before it could not be opened. */
export interface ReviewedLog {
  readonly view: TraceView | null;
  readonly session: string;
  readonly reviewer: string;
  readonly skipped: readonly string[];
}
export const parseReviewedLog: parse.Parser<ReviewedLog> = parse.record<ReviewedLog>({
  view: parse.otherwise(parse.nullable(parseTraceView), null),
  session: parse.otherwise(parse.text, ''),
  reviewer: parse.otherwise(parse.text, ''),
  skipped: parse.otherwise(parse.list(parse.text), []),
});

/** The changes of a log. ``view`` is None if there are none.

``moves`` say where the lines of the page's version are now; other lines are new, or gone. ``changed`` are lines, as numbered now, whose record says something else, such as calls that have got their result. ``block`` has the new rows and those that look different, with their ``line`` (u32); None with a view: the page loads all rows again. ``restarted``: it is not known where the lines are. ``fresh``: the log was written in the last minutes. ``continuation`` is the name of the file in which the session goes on, empty if there is none. */
export interface TraceUpdate {
  readonly version: number;
  readonly fresh: boolean;
  readonly view: TraceView | null;
  readonly moves: readonly TraceMove[];
  readonly changed: readonly number[];
  readonly restarted: boolean;
  readonly continuation: string;
  readonly block: ColumnBlock | null;
  readonly first_chip: number;
  readonly chips: readonly TraceChip[];
}
export const parseTraceUpdate: parse.Parser<TraceUpdate> = parse.record<TraceUpdate>({
  version: parse.number,
  fresh: parse.flag,
  view: parse.otherwise(parse.nullable(parseTraceView), null),
  moves: parse.otherwise(parse.list(parseTraceMove), []),
  changed: parse.otherwise(parse.list(parse.number), []),
  restarted: parse.otherwise(parse.flag, false),
  continuation: parse.otherwise(parse.text, ''),
  block: parse.otherwise(parse.nullable(parseColumnBlock), null),
  first_chip: parse.otherwise(parse.number, 0),
  chips: parse.otherwise(parse.list(parseTraceChip), []),
});

/** The tables of tokens, money and time. ``priced``: the costs are those of price lists. */
export interface TraceUsage {
  readonly tables: readonly UsageTable[];
  readonly priced: boolean;
}
export const parseTraceUsage: parse.Parser<TraceUsage> = parse.record<TraceUsage>({
  tables: parse.list(parseUsageTable),
  priced: parse.otherwise(parse.flag, false),
});

/** The view of one log that was opened, of the comparison of several, or of the list of sessions. */
export interface OpenedLogs {
  readonly view: TraceView | null;
  readonly comparison: ComparisonView | null;
  readonly sessions: SessionsView | null;
}
export const parseOpenedLogs: parse.Parser<OpenedLogs> = parse.record<OpenedLogs>({
  view: parse.otherwise(parse.nullable(parseTraceView), null),
  comparison: parse.otherwise(parse.nullable(parseComparisonView), null),
  sessions: parse.otherwise(parse.nullable(parseSessionsView), null),
});

/** The detail view of a line: the card that a live call would have, its context, the position of its record; ``number`` is its step.

``replay`` is the cell that runs the call again in a copy, empty if that is impossible; ``obstacle`` then says why. ``tool`` is the call as a ``%tool`` cell, ``link`` the cell that opens the log at this step, ``place`` the log's path relative to the folder of the kernel's notebook, empty if there is none, ``session`` its id in the list of sessions, empty if it is not looked for; ``raw`` is the position of its bytes in the log. */
export interface TraceOpened {
  readonly line: number;
  readonly number: string;
  readonly card: Card;
  readonly foot: string;
  readonly around: readonly TraceContext[];
  readonly raw: string;
  readonly replay: string;
  readonly obstacle: string;
  readonly tool: string;
  readonly link: string;
  readonly place: string;
  readonly session: string;
}
export const parseTraceOpened: parse.Parser<TraceOpened> = parse.record<TraceOpened>({
  line: parse.number,
  number: parse.otherwise(parse.text, ''),
  card: parseCard,
  foot: parse.text,
  around: parse.otherwise(parse.list(parseTraceContext), []),
  raw: parse.otherwise(parse.text, ''),
  replay: parse.otherwise(parse.text, ''),
  obstacle: parse.otherwise(parse.text, ''),
  tool: parse.otherwise(parse.text, ''),
  link: parse.otherwise(parse.text, ''),
  place: parse.otherwise(parse.text, ''),
  session: parse.otherwise(parse.text, ''),
});

export const TRACE_METHODS = {
  'trace.cell': parseTraceCell,
  'trace.changes': parseTraceChanges,
  'trace.compare_with': parseOpenedLogs,
  'trace.excerpts': parseTraceExcerpts,
  'trace.facets': parseTraceFacets,
  'trace.file_diff': parseTraceOpened,
  'trace.follow': parseTraceUpdate,
  'trace.notebook': parseTraceExport,
  'trace.open': parseTraceOpened,
  'trace.raw': parseTraceRaw,
  'trace.review': parseTraceReview,
  'trace.rows': parseTraceRows,
  'trace.sample': parseTraceOpened,
  'trace.samples': parseTraceSamples,
  'trace.saved_filters': parseSavedFilters,
  'trace.search': parseTraceHits,
  'trace.sessions': parseOpenedLogs,
  'trace.share': parseTraceShare,
  'trace.strip': parseTraceStrip,
  'trace.tokens': parseTraceTokens,
  'trace.usage': parseTraceUsage,
};

export const LOG_METHODS = {
  'logs.open': parseOpenedLogs,
};

export const SESSION_METHODS = {
  'sessions.add_folder': parseAddedFolder,
  'sessions.left_out': parseLeftOutFiles,
  'sessions.next': parseReviewedLog,
  'sessions.open': parseOpenedLogs,
  'sessions.review': parseSessionReviews,
  'sessions.reviews': parseSessionReviews,
  'sessions.rows': parseSessionRows,
  'sessions.search': parseFoundSessions,
  'sessions.totals': parseSessionTotals,
};

export const COMPARISON_METHODS = {
  'comparison.baseline': parseComparisonView,
  'comparison.open_run': parseOpenedLogs,
  'comparison.outcomes': parseComparedOutcomes,
  'comparison.rows': parseComparedRows,
};
