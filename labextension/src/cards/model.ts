// Generated from nbtools/cards/card_model.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';

/** Text and its space-separated style words. */
export type Span = readonly [string, string];

export const MIME = 'application/vnd.nbtools.call.v1+json';
export const GROUP_MIME = 'application/vnd.nbtools.group.v1+json';
export const CELLS_EVENT = 'cells';
export const ICON_PATHS = {'pencil': 'M11 2.5l2.5 2.5L6 12.5l-3.2.7.7-3.2z', 'terminal': 'M2.5 4l4 4-4 4M8.5 12.5h5', 'regex': 'M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.3 10.3l3.2 3.2', 'fileSearch': 'M9 2H3.5v12H7M9 2l3.5 3.5M9 2v3.5h3.5V7M10 13a2 2 0 1 1 0-4 2 2 0 0 1 0 4zM11.5 12.5L13.5 14.5', 'file': 'M9 2H3.5v12h9V5.5zM9 2v3.5h3.5', 'folder': 'M2 4h4.5L8 5.5h6v7.5H2z', 'globe': 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM2 8h12M8 2c4 4 4 8 0 12M8 2c-4 4-4 8 0 12', 'hammer': 'M9.5 3.5l3 3M3 13l6.5-6.5M6.5 3.5c1.5-1.5 3.5-1.5 5 0l2 2-2 2-5-4z', 'shield': 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z', 'lightBulb': 'M6 11.5c0-2-2-2.5-2-5a4 4 0 0 1 8 0c0 2.5-2 3-2 5zM6.5 14h3', 'person': 'M8 8a2.8 2.8 0 1 1 0-5.6A2.8 2.8 0 0 1 8 8zM2.8 14c0-2.6 2.2-4 5.2-4s5.2 1.4 5.2 4', 'assistant': 'M8 1.8c.5 3.7 2.5 5.7 6.2 6.2-3.7.5-5.7 2.5-6.2 6.2-.5-3.7-2.5-5.7-6.2-6.2 3.7-.5 5.7-2.5 6.2-6.2z', 'thought': 'M4.6 10.4a3 3 0 0 1 .2-5.9 3.6 3.6 0 0 1 6.6.6 2.7 2.7 0 0 1-.5 5.3zM4.4 13.6h.1M6.6 12.2h.1', 'agent': 'M3.5 2.5v5a2 2 0 0 0 2 2H13M10 6.5l3 3-3 3', 'fold': 'M3 8h10M8 1.8v4M6 4.2l2 1.8 2-1.8M8 14.2v-4M6 11.8l2-1.8 2 1.8', 'clip': 'M12.5 7.5l-5 5a2.9 2.9 0 0 1-4-4l5.5-5.5a1.9 1.9 0 0 1 2.7 2.7L6.3 11a.9.9 0 0 1-1.3-1.3l4.6-4.6', 'alarm': 'M8 2.2L14.3 13H1.7zM8 6.4v3M8 11.2v.1', 'session': 'M2 3.5h12v9H2zM2 6h12', 'check': 'M3 8.5l3.5 3.5L13 4'};

/** Carries out an action of a card; ``id`` is that of a ``CardAction``. */
export interface ActParams {
  readonly verb: 'undo' | 'merge' | 'keep' | 'take_back' | 'apply';
  readonly id: string;
}

/** A sound; ``data`` is its content in base64. */
export interface AudioBlock {
  readonly type: 'audio';
  readonly mime_type: 'audio/wav' | 'audio/mpeg' | 'audio/ogg' | 'audio/webm' | 'audio/flac' | 'audio/mp4' | 'audio/aac';
  readonly data: string;
  readonly note: string;
}
export const parseAudioBlock: parse.Parser<AudioBlock> = parse.record<AudioBlock>({
  type: parse.oneOf('audio'),
  mime_type: parse.oneOf('audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/webm', 'audio/flac', 'audio/mp4', 'audio/aac'),
  data: parse.text,
  note: parse.otherwise(parse.text, ''),
});

/** Cancels a call, or stops an agent's run. */
export interface CancelParams {
  readonly call: string;
}

/** An action that a click sends to the kernel (``cards.act``); ``magic`` is the equivalent command. */
export interface CardAction {
  readonly verb: 'undo' | 'merge' | 'keep' | 'take_back' | 'apply';
  readonly id: string;
  readonly label: string;
  readonly magic: string;
}
export const parseCardAction: parse.Parser<CardAction> = parse.record<CardAction>({
  verb: parse.oneOf('undo', 'merge', 'keep', 'take_back', 'apply'),
  id: parse.text,
  label: parse.text,
  magic: parse.text,
});

/** A file, and optionally a line in it, that a click opens. */
export interface CardPlace {
  readonly path: string;
  readonly line: number | null;
}
export const parseCardPlace: parse.Parser<CardPlace> = parse.record<CardPlace>({
  path: parse.text,
  line: parse.otherwise(parse.nullable(parse.number), null),
});

/** Part of a file, with syntax highlighting; ``start`` is the number of its first line.

Code that is not in a file has an empty ``path``, and a ``title`` that says what it is. */
export interface CodeBlock {
  readonly type: 'code';
  readonly path: string;
  readonly start: number;
  readonly lines: readonly (readonly Span[])[];
  readonly total: number;
  readonly more: string;
  readonly title: string;
}
export const parseCodeBlock: parse.Parser<CodeBlock> = parse.record<CodeBlock>({
  type: parse.oneOf('code'),
  path: parse.text,
  start: parse.number,
  lines: parse.list(parse.list(parse.pair)),
  total: parse.otherwise(parse.number, 0),
  more: parse.otherwise(parse.text, ''),
  title: parse.otherwise(parse.text, ''),
});

/** An image; ``data`` is its content in base64. */
export interface ImageBlock {
  readonly type: 'image';
  readonly path: string;
  readonly mime_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  readonly data: string;
  readonly note: string;
}
export const parseImageBlock: parse.Parser<ImageBlock> = parse.record<ImageBlock>({
  type: parse.oneOf('image'),
  path: parse.text,
  mime_type: parse.oneOf('image/png', 'image/jpeg', 'image/gif', 'image/webp'),
  data: parse.text,
  note: parse.otherwise(parse.text, ''),
});

/** The end of a terminal's output, with carriage returns and colours already processed. */
export interface OutputBlock {
  readonly type: 'output';
  readonly lines: readonly (readonly Span[])[];
  readonly earlier: number;
  readonly full_output: string;
}
export const parseOutputBlock: parse.Parser<OutputBlock> = parse.record<OutputBlock>({
  type: parse.oneOf('output'),
  lines: parse.list(parse.list(parse.pair)),
  earlier: parse.otherwise(parse.number, 0),
  full_output: parse.otherwise(parse.text, ''),
});

/** A question to the person, with its choices and, once there is one, the answer. */
export interface QuestionBlock {
  readonly type: 'question';
  readonly header: string;
  readonly text: string;
  readonly choices: readonly Span[];
  readonly several: boolean;
  readonly answer: string;
}
export const parseQuestionBlock: parse.Parser<QuestionBlock> = parse.record<QuestionBlock>({
  type: parse.oneOf('question'),
  header: parse.text,
  text: parse.text,
  choices: parse.otherwise(parse.list(parse.pair), []),
  several: parse.otherwise(parse.flag, false),
  answer: parse.otherwise(parse.text, ''),
});

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly tone: 'plain' | 'quiet' | 'warning' | 'error';
  readonly markdown: boolean;
  readonly title: string;
}
export const parseTextBlock: parse.Parser<TextBlock> = parse.record<TextBlock>({
  type: parse.oneOf('text'),
  text: parse.text,
  tone: parse.otherwise(parse.oneOf('plain', 'quiet', 'warning', 'error'), 'plain'),
  markdown: parse.otherwise(parse.flag, false),
  title: parse.otherwise(parse.text, ''),
});

/** Returns the cells of a notebook, including unsaved changes. */
export interface CellsTask {
  readonly type: 'cells';
  readonly path: string;
}
export const parseCellsTask: parse.Parser<CellsTask> = parse.record<CellsTask>({
  type: parse.oneOf('cells'),
  path: parse.text,
});

/** One simple command of a command line: the operator before it, its text, and a note on its effects. */
export interface CommandPart {
  readonly operator: string;
  readonly spans: readonly Span[];
  readonly note: string;
  readonly warning: boolean;
}
export const parseCommandPart: parse.Parser<CommandPart> = parse.record<CommandPart>({
  operator: parse.text,
  spans: parse.list(parse.pair),
  note: parse.otherwise(parse.text, ''),
  warning: parse.otherwise(parse.flag, false),
});

export interface DeleteTask {
  readonly type: 'delete';
  readonly path: string;
  readonly cell: string;
  readonly expected: string;
}
export const parseDeleteTask: parse.Parser<DeleteTask> = parse.record<DeleteTask>({
  type: parse.oneOf('delete'),
  path: parse.text,
  cell: parse.text,
  expected: parse.text,
});

/** Inserts a cell with the id ``cell`` after the cell ``after``; empty means at the top, null at the end. */
export interface InsertTask {
  readonly type: 'insert';
  readonly path: string;
  readonly cell: string;
  readonly source: string;
  readonly kind: 'code' | 'markdown' | 'raw';
  readonly after: string | null;
}
export const parseInsertTask: parse.Parser<InsertTask> = parse.record<InsertTask>({
  type: parse.oneOf('insert'),
  path: parse.text,
  cell: parse.text,
  source: parse.text,
  kind: parse.oneOf('code', 'markdown', 'raw'),
  after: parse.nullable(parse.text),
});

/** One line of one side of a diff. */
export interface Line {
  readonly number: number;
  readonly spans: readonly Span[];
}
export const parseLine: parse.Parser<Line> = parse.record<Line>({
  number: parse.number,
  spans: parse.list(parse.pair),
});

/** Lists the open notebooks. */
export interface ListTask {
  readonly type: 'list';
}
export const parseListTask: parse.Parser<ListTask> = parse.record<ListTask>({
  type: parse.oneOf('list'),
});

/** A file or a folder. In a tree, ``branch`` is what is drawn before its name, which then is the last part of the path. */
export interface ListingEntry {
  readonly path: string;
  readonly branch: string;
  readonly folder: boolean;
  readonly size: number | null;
  readonly note: string;
}
export const parseListingEntry: parse.Parser<ListingEntry> = parse.record<ListingEntry>({
  path: parse.text,
  branch: parse.otherwise(parse.text, ''),
  folder: parse.otherwise(parse.flag, false),
  size: parse.otherwise(parse.nullable(parse.number), null),
  note: parse.otherwise(parse.text, ''),
});

export interface MatchLine {
  readonly number: number;
  readonly spans: readonly Span[];
  readonly context: boolean;
}
export const parseMatchLine: parse.Parser<MatchLine> = parse.record<MatchLine>({
  number: parse.number,
  spans: parse.list(parse.pair),
  context: parse.otherwise(parse.flag, false),
});

export interface MoveTask {
  readonly type: 'move';
  readonly path: string;
  readonly cell: string;
  readonly after: string | null;
}
export const parseMoveTask: parse.Parser<MoveTask> = parse.record<MoveTask>({
  type: parse.oneOf('move'),
  path: parse.text,
  cell: parse.text,
  after: parse.nullable(parse.text),
});

/** A cell of an open notebook; ``outputs`` is the JSON of its nbformat outputs. */
export interface OpenedCell {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly outputs: string;
  readonly busy: boolean;
}

/** An open notebook of the page ``client``, by its path on the server.

``own`` means that it runs on the requesting kernel, ``busy`` that one of its cells is running. */
export interface OpenedNotebook {
  readonly client: string;
  readonly path: string;
  readonly dirty: boolean;
  readonly own: boolean;
  readonly busy: boolean;
}

/** Replaces the source, and optionally the type, of a cell whose source is still ``expected``. */
export interface ReplaceTask {
  readonly type: 'replace';
  readonly path: string;
  readonly cell: string;
  readonly expected: string;
  readonly source: string;
  readonly kind: 'code' | 'markdown' | 'raw' | null;
}
export const parseReplaceTask: parse.Parser<ReplaceTask> = parse.record<ReplaceTask>({
  type: parse.oneOf('replace'),
  path: parse.text,
  cell: parse.text,
  expected: parse.text,
  source: parse.text,
  kind: parse.nullable(parse.oneOf('code', 'markdown', 'raw')),
});

/** Queues a cell. The answer comes when it has run, or at once where it would run on the requesting kernel. */
export interface RunTask {
  readonly type: 'run';
  readonly path: string;
  readonly cell: string;
}
export const parseRunTask: parse.Parser<RunTask> = parse.record<RunTask>({
  type: parse.oneOf('run'),
  path: parse.text,
  cell: parse.text,
});

/** Interrupts a notebook's kernel. */
export interface StopTask {
  readonly type: 'stop';
  readonly path: string;
}
export const parseStopTask: parse.Parser<StopTask> = parse.record<StopTask>({
  type: parse.oneOf('stop'),
  path: parse.text,
});

/** A page of a document, with its number; ``data`` is a PNG picture in base64. */
export interface Page {
  readonly number: number;
  readonly data: string;
}
export const parsePage: parse.Parser<Page> = parse.record<Page>({
  number: parse.number,
  data: parse.text,
});

/** Asks for the current cards of calls, which every page gets. */
export interface ShowParams {
  readonly calls: readonly string[];
}

export interface TodoEntry {
  readonly text: string;
  readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled' | 'blocked';
}
export const parseTodoEntry: parse.Parser<TodoEntry> = parse.record<TodoEntry>({
  text: parse.text,
  status: parse.oneOf('pending', 'in_progress', 'completed', 'cancelled', 'blocked'),
});

/** All simple commands of a command line. A part with the operator ``↳`` is started by the part above it. */
export interface CommandBlock {
  readonly type: 'command';
  readonly parts: readonly CommandPart[];
  readonly sandbox: string;
}
export const parseCommandBlock: parse.Parser<CommandBlock> = parse.record<CommandBlock>({
  type: parse.oneOf('command'),
  parts: parse.list(parseCommandPart),
  sandbox: parse.otherwise(parse.text, ''),
});

/** One row of a side-by-side diff. Both sides and not changed: context. One side only: added or removed. */
export interface Row {
  readonly old: Line | null;
  readonly new: Line | null;
  readonly changed: boolean;
}
export const parseRow: parse.Parser<Row> = parse.record<Row>({
  old: parse.nullable(parseLine),
  new: parse.nullable(parseLine),
  changed: parse.flag,
});

export interface ListingBlock {
  readonly type: 'listing';
  readonly entries: readonly ListingEntry[];
  readonly more: string;
}
export const parseListingBlock: parse.Parser<ListingBlock> = parse.record<ListingBlock>({
  type: parse.oneOf('listing'),
  entries: parse.list(parseListingEntry),
  more: parse.otherwise(parse.text, ''),
});

export interface MatchGroup {
  readonly path: string;
  readonly part: string;
  readonly cell: string;
  readonly lines: readonly MatchLine[];
}
export const parseMatchGroup: parse.Parser<MatchGroup> = parse.record<MatchGroup>({
  path: parse.text,
  part: parse.otherwise(parse.text, ''),
  cell: parse.otherwise(parse.text, ''),
  lines: parse.list(parseMatchLine),
});

/** A page's answer, including the open notebooks of the browser's other pages; ``problem`` says why nothing was done. */
export interface NotebookAnswer {
  readonly id: string;
  readonly problem: string;
  readonly queued: boolean;
  readonly notebooks: readonly OpenedNotebook[];
  readonly cells: readonly OpenedCell[];
}

/** A request of the kernel to the page ``client``, or to every page if that is empty. */
export interface NotebookRequest {
  readonly id: string;
  readonly client: string;
  readonly task: CellsTask | DeleteTask | InsertTask | ListTask | MoveTask | ReplaceTask | RunTask | StopTask;
}
export const parseNotebookRequest: parse.Parser<NotebookRequest> = parse.record<NotebookRequest>({
  id: parse.text,
  client: parse.text,
  task: parse.tagged<CellsTask | DeleteTask | InsertTask | ListTask | MoveTask | ReplaceTask | RunTask | StopTask>({ cells: parseCellsTask, delete: parseDeleteTask, insert: parseInsertTask, list: parseListTask, move: parseMoveTask, replace: parseReplaceTask, run: parseRunTask, stop: parseStopTask }),
});

/** Pictures of a document's first pages, of which a card shows two at once. */
export interface PagesBlock {
  readonly type: 'pages';
  readonly path: string;
  readonly pages: readonly Page[];
  readonly more: string;
}
export const parsePagesBlock: parse.Parser<PagesBlock> = parse.record<PagesBlock>({
  type: parse.oneOf('pages'),
  path: parse.text,
  pages: parse.list(parsePage),
  more: parse.otherwise(parse.text, ''),
});

/** A to-do list, in order. */
export interface TodoBlock {
  readonly type: 'todo';
  readonly items: readonly TodoEntry[];
  readonly more: string;
}
export const parseTodoBlock: parse.Parser<TodoBlock> = parse.record<TodoBlock>({
  type: parse.oneOf('todo'),
  items: parse.list(parseTodoEntry),
  more: parse.otherwise(parse.text, ''),
});

/** Adjacent rows. ``folded`` hunks are unchanged and shown as one line; ``hidden`` counts rows that are not part of the card. */
export interface Hunk {
  readonly rows: readonly Row[];
  readonly folded: boolean;
  readonly hidden: number;
}
export const parseHunk: parse.Parser<Hunk> = parse.record<Hunk>({
  rows: parse.list(parseRow),
  folded: parse.otherwise(parse.flag, false),
  hidden: parse.otherwise(parse.number, 0),
});

export interface MatchesBlock {
  readonly type: 'matches';
  readonly groups: readonly MatchGroup[];
  readonly more: string;
}
export const parseMatchesBlock: parse.Parser<MatchesBlock> = parse.record<MatchesBlock>({
  type: parse.oneOf('matches'),
  groups: parse.list(parseMatchGroup),
  more: parse.otherwise(parse.text, ''),
});

export interface DiffBlock {
  readonly type: 'diff';
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  readonly created: boolean;
  readonly deleted: boolean;
  readonly former: string;
  readonly titled: boolean;
}
export const parseDiffBlock: parse.Parser<DiffBlock> = parse.record<DiffBlock>({
  type: parse.oneOf('diff'),
  path: parse.text,
  added: parse.number,
  removed: parse.number,
  hunks: parse.list(parseHunk),
  created: parse.otherwise(parse.flag, false),
  deleted: parse.otherwise(parse.flag, false),
  former: parse.otherwise(parse.text, ''),
  titled: parse.otherwise(parse.flag, false),
});

/** A call in one of its states, ready to be rendered: a head, a body of blocks, a foot. */
export interface Card {
  readonly id: string;
  readonly state: 'validating' | 'scheduled' | 'awaiting_approval' | 'executing' | 'success' | 'error' | 'cancelled';
  readonly tool: string;
  readonly icon: string;
  readonly subject: string;
  readonly added: number;
  readonly removed: number;
  readonly status: string;
  readonly failed: boolean;
  readonly detail: string;
  readonly blocks: readonly (AudioBlock | CodeBlock | CommandBlock | DiffBlock | ImageBlock | ListingBlock | MatchesBlock | OutputBlock | PagesBlock | QuestionBlock | TextBlock | TodoBlock)[];
  readonly folded: boolean;
  readonly unfold: string;
  readonly record: string;
  readonly note: string;
  readonly places: readonly CardPlace[];
  readonly root: string;
  readonly deeds: readonly CardAction[];
  readonly cancellable: boolean;
}
export const parseCard: parse.Parser<Card> = parse.record<Card>({
  id: parse.text,
  state: parse.oneOf('validating', 'scheduled', 'awaiting_approval', 'executing', 'success', 'error', 'cancelled'),
  tool: parse.text,
  icon: parse.text,
  subject: parse.text,
  added: parse.otherwise(parse.number, 0),
  removed: parse.otherwise(parse.number, 0),
  status: parse.text,
  failed: parse.otherwise(parse.flag, false),
  detail: parse.otherwise(parse.text, ''),
  blocks: parse.otherwise(parse.list(parse.tagged<AudioBlock | CodeBlock | CommandBlock | DiffBlock | ImageBlock | ListingBlock | MatchesBlock | OutputBlock | PagesBlock | QuestionBlock | TextBlock | TodoBlock>({ audio: parseAudioBlock, code: parseCodeBlock, command: parseCommandBlock, diff: parseDiffBlock, image: parseImageBlock, listing: parseListingBlock, matches: parseMatchesBlock, output: parseOutputBlock, pages: parsePagesBlock, question: parseQuestionBlock, text: parseTextBlock, todo: parseTodoBlock })), []),
  folded: parse.otherwise(parse.flag, false),
  unfold: parse.otherwise(parse.text, ''),
  record: parse.otherwise(parse.text, ''),
  note: parse.otherwise(parse.text, ''),
  places: parse.otherwise(parse.list(parseCardPlace), []),
  root: parse.otherwise(parse.text, '.'),
  deeds: parse.otherwise(parse.list(parseCardAction), []),
  cancellable: parse.otherwise(parse.flag, false),
});

export const CARD_METHODS = {
  'cards.act': parse.nothing,
  'cards.cancel': parse.nothing,
  'cards.show': parse.nothing,
  'cells.answer': parse.nothing,
};
