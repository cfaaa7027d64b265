// Generated from nbtools/notebook/wire.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as guard from './guard.js';

export const MIME = 'application/vnd.nbtools.call.v1+json';

/** Text and its space-separated style words. */
export type Span = readonly [string, string];
export const isSpan: guard.Guard<Span> = guard.pair;

/** Part of a file, syntax-coloured; ``start`` is the number of its first line. */
export interface CodeBlock {
  readonly type: 'code';
  readonly path: string;
  readonly start: number;
  readonly lines: readonly (readonly Span[])[];
  readonly more: string;
}
export const isCodeBlock: guard.Guard<CodeBlock> = guard.record<CodeBlock>({
  type: guard.oneOf('code'),
  path: guard.text,
  start: guard.number,
  lines: guard.list(guard.list(isSpan)),
  more: guard.text,
});

/** The tail of a terminal's output, rendered: carriage returns and colours are done. */
export interface OutputBlock {
  readonly type: 'output';
  readonly lines: readonly (readonly Span[])[];
  readonly earlier: number;
  readonly full_output: string;
}
export const isOutputBlock: guard.Guard<OutputBlock> = guard.record<OutputBlock>({
  type: guard.oneOf('output'),
  lines: guard.list(guard.list(isSpan)),
  earlier: guard.number,
  full_output: guard.text,
});

/** A file, and a line in it, that a click opens. */
export interface Place {
  readonly path: string;
  readonly line: number | null;
}
export const isPlace: guard.Guard<Place> = guard.record<Place>({
  path: guard.text,
  line: guard.either(guard.number, guard.nothing),
});

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly tone: 'plain' | 'quiet' | 'error';
  readonly markdown: boolean;
}
export const isTextBlock: guard.Guard<TextBlock> = guard.record<TextBlock>({
  type: guard.oneOf('text'),
  text: guard.text,
  tone: guard.oneOf('plain', 'quiet', 'error'),
  markdown: guard.flag,
});

/** One simple command of a command line: the operator that joins it to the one before, its text, what is worth knowing of it. */
export interface CommandPart {
  readonly operator: string;
  readonly spans: readonly Span[];
  readonly note: string;
  readonly warning: boolean;
}
export const isCommandPart: guard.Guard<CommandPart> = guard.record<CommandPart>({
  operator: guard.text,
  spans: guard.list(isSpan),
  note: guard.text,
  warning: guard.flag,
});

/** One line of one side of a diff. */
export interface Line {
  readonly number: number;
  readonly spans: readonly Span[];
}
export const isLine: guard.Guard<Line> = guard.record<Line>({
  number: guard.number,
  spans: guard.list(isSpan),
});

export interface ListingEntry {
  readonly path: string;
  readonly folder: boolean;
  readonly size: number | null;
}
export const isListingEntry: guard.Guard<ListingEntry> = guard.record<ListingEntry>({
  path: guard.text,
  folder: guard.flag,
  size: guard.either(guard.number, guard.nothing),
});

export interface MatchLine {
  readonly number: number;
  readonly spans: readonly Span[];
  readonly context: boolean;
}
export const isMatchLine: guard.Guard<MatchLine> = guard.record<MatchLine>({
  number: guard.number,
  spans: guard.list(isSpan),
  context: guard.flag,
});

export interface CommandBlock {
  readonly type: 'command';
  readonly parts: readonly CommandPart[];
}
export const isCommandBlock: guard.Guard<CommandBlock> = guard.record<CommandBlock>({
  type: guard.oneOf('command'),
  parts: guard.list(isCommandPart),
});

/** One row of a side-by-side diff.  Both sides and not changed: context.  One side only: added or removed. */
export interface Row {
  readonly old: Line | null;
  readonly new: Line | null;
  readonly changed: boolean;
}
export const isRow: guard.Guard<Row> = guard.record<Row>({
  old: guard.either(isLine, guard.nothing),
  new: guard.either(isLine, guard.nothing),
  changed: guard.flag,
});

export interface ListingBlock {
  readonly type: 'listing';
  readonly entries: readonly ListingEntry[];
  readonly more: string;
}
export const isListingBlock: guard.Guard<ListingBlock> = guard.record<ListingBlock>({
  type: guard.oneOf('listing'),
  entries: guard.list(isListingEntry),
  more: guard.text,
});

export interface MatchGroup {
  readonly path: string;
  readonly lines: readonly MatchLine[];
}
export const isMatchGroup: guard.Guard<MatchGroup> = guard.record<MatchGroup>({
  path: guard.text,
  lines: guard.list(isMatchLine),
});

/** A stretch of rows.  ``folded`` hunks are unchanged and stand behind one quiet line; ``hidden`` counts lines that are not sent. */
export interface Hunk {
  readonly rows: readonly Row[];
  readonly folded: boolean;
  readonly hidden: number;
}
export const isHunk: guard.Guard<Hunk> = guard.record<Hunk>({
  rows: guard.list(isRow),
  folded: guard.flag,
  hidden: guard.number,
});

export interface MatchesBlock {
  readonly type: 'matches';
  readonly groups: readonly MatchGroup[];
  readonly more: string;
}
export const isMatchesBlock: guard.Guard<MatchesBlock> = guard.record<MatchesBlock>({
  type: guard.oneOf('matches'),
  groups: guard.list(isMatchGroup),
  more: guard.text,
});

export interface DiffBlock {
  readonly type: 'diff';
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly Hunk[];
  readonly created: boolean;
}
export const isDiffBlock: guard.Guard<DiffBlock> = guard.record<DiffBlock>({
  type: guard.oneOf('diff'),
  path: guard.text,
  added: guard.number,
  removed: guard.number,
  hunks: guard.list(isHunk),
  created: guard.flag,
});

/** A call in one of its states, ready to be drawn: a head, a body of blocks, a foot. */
export interface Card {
  readonly id: string;
  readonly state: 'validating' | 'scheduled' | 'awaiting_approval' | 'executing' | 'success' | 'error' | 'cancelled';
  readonly tool: string;
  readonly icon: string;
  readonly subject: string;
  readonly added: number;
  readonly removed: number;
  readonly status: string;
  readonly detail: string;
  readonly blocks: readonly (DiffBlock | CommandBlock | OutputBlock | MatchesBlock | ListingBlock | CodeBlock | TextBlock)[];
  readonly folded: boolean;
  readonly unfold: string;
  readonly record: string;
  readonly note: string;
  readonly places: readonly Place[];
  readonly root: string;
  readonly cancellable: boolean;
}
export const isCard: guard.Guard<Card> = guard.record<Card>({
  id: guard.text,
  state: guard.oneOf('validating', 'scheduled', 'awaiting_approval', 'executing', 'success', 'error', 'cancelled'),
  tool: guard.text,
  icon: guard.text,
  subject: guard.text,
  added: guard.number,
  removed: guard.number,
  status: guard.text,
  detail: guard.text,
  blocks: guard.list(guard.either(isDiffBlock, isCommandBlock, isOutputBlock, isMatchesBlock, isListingBlock, isCodeBlock, isTextBlock)),
  folded: guard.flag,
  unfold: guard.text,
  record: guard.text,
  note: guard.text,
  places: guard.list(isPlace),
  root: guard.text,
  cancellable: guard.flag,
});
