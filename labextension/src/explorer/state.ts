import type { Columns } from '../shared/columns.js';
import type { Span } from '../cards/model.js';
import { listsEverything, NO_FILTER, sameFilter, type TraceFilter } from './filter.js';
import type { LineMoves } from './line_moves.js';
import { listing, offeredFacets, type AddedFacet, type Filterable, type Hits, type Listing, type OfferedFacet } from './listing.js';
import { LogRows, type Chip } from './log_rows.js';
import type { TraceMark, TraceView } from './model.js';

/** How often a new row must have been visible, at intervals of half a second, to count as seen. */
const SEEN_AFTER = 4;

/** What a search has found for a text, until the whole log is searched. */
export interface Found extends Hits {
  readonly text: string;
}

/** Everything that an explorer shows, except its scroll position and what only one of its panels knows. */
export interface ExplorerState extends Filterable {
  readonly view: TraceView | null;
  /** The version of the log of which the lines are. */
  readonly version: number;
  readonly hits: Found | null;
  /** The filter that the person has chosen. */
  readonly filter: TraceFilter;
  /** The text that the person has searched for last, also if that has failed. */
  readonly typed: string;
  /** The filter of the listed lines: that of the person, with the text that was searched for last. */
  readonly shown: TraceFilter;
  readonly listed: Listing;
  readonly offered: readonly OfferedFacet[];
  /** The selected line of the log; the filter may exclude it. */
  readonly selected: number | null;
  /** The lines that came since the person looked, and how often each has been visible. */
  readonly newLines: ReadonlyMap<number, number>;
  readonly marks: ReadonlyMap<number, readonly TraceMark[]>;
  /** The surroundings of hits, by line. */
  readonly excerpts: ReadonlyMap<number, readonly Span[]>;
  /** Where the lines have moved when the log has grown last. */
  readonly moves: LineMoves | null;
  /** Whether the list of changed files is in place of the steps. */
  readonly hasChanges: boolean;
  readonly notice: string;
}

export type Action =
  | { readonly type: 'open' | 'view'; readonly view: TraceView }
  | ({ readonly type: 'rows'; readonly first: number; readonly total: number } & NewRows)
  /** The log has grown.  Without `columns`, `rows` are the rows that are loaded again. */
  | ({
      readonly type: 'grow';
      readonly view: TraceView;
      readonly moves: LineMoves;
      readonly changed: readonly number[];
      readonly rows: LogRows | null;
    } & NewRows)
  | { readonly type: 'tokens'; readonly columns: Columns }
  | { readonly type: 'facets'; readonly facets: readonly AddedFacet[] }
  | { readonly type: 'filter'; readonly change: Partial<TraceFilter> }
  | { readonly type: 'found'; readonly found: Found }
  /** The search for a text has failed: the one before is shown again. */
  | { readonly type: 'search failed'; readonly text: string; readonly notice: string }
  | { readonly type: 'excerpts'; readonly text: string; readonly excerpts: readonly (readonly [number, readonly Span[]])[] }
  | { readonly type: 'select'; readonly line: number }
  | { readonly type: 'marks'; readonly marks: ReadonlyMap<number, readonly TraceMark[]> }
  /** These lines are visible. */
  | { readonly type: 'look'; readonly lines: readonly number[] }
  | { readonly type: 'changes'; readonly shown: boolean }
  | { readonly type: 'notice'; readonly text: string };

/** Rows, and the chips from the index `known` on. */
export interface NewRows {
  readonly columns: Columns | null;
  readonly chips: readonly Chip[];
  readonly known: number;
}

export const INITIAL_STATE: ExplorerState = stateOf(null);

/** Returns the state after an action.  The state before stays as it is. */
export function reduce(state: ExplorerState, action: Action): ExplorerState {
  const next = changed(state, action);
  return next === state ? state : withListing(next, state);
}

/** Whether the text that the person has typed is still being searched for. */
export function isSearchPending({ filter, hits }: ExplorerState): boolean {
  return filter.text !== (hits?.text ?? '');
}

/** Whether the list may get more hits. */
export function isIndexing({ hits }: ExplorerState): boolean {
  return hits !== null && hits.indexed < 100;
}

/** Returns how many new lines are listed at the end. */
export function listedNews({ shown, listed, newLines }: ExplorerState): number {
  if (listsEverything(shown)) {
    return newLines.size;
  }
  return shown.order ? 0 : listed.count(newLines.keys());
}

/** Returns the row of the selected line; null if it is not listed. */
export function selectedRow({ selected, listed }: ExplorerState): number | null {
  const row = selected === null ? -1 : listed.indexOf(selected);
  return row >= 0 && listed.lines[row] === selected ? row : null;
}

/** Returns the texts that a search has found in a line, in lower case. */
export function hitsIn({ excerpts }: ExplorerState, line: number | null): string[] {
  const spans = (line === null ? null : excerpts.get(line)) ?? [];
  return [...new Set(spans.filter(([, names]) => names.split(' ').includes('hit')).map(([text]) => text.toLowerCase()))];
}

function stateOf(view: TraceView | null): ExplorerState {
  const log = { rows: LogRows.empty(view?.total ?? 0), facets: [], hits: null };
  return {
    ...log,
    view,
    version: view?.version ?? 0,
    filter: NO_FILTER,
    typed: '',
    shown: NO_FILTER,
    listed: listing(log, NO_FILTER),
    offered: offeredFacets(log, NO_FILTER),
    selected: null,
    newLines: new Map(),
    marks: new Map(),
    excerpts: new Map(),
    moves: null,
    hasChanges: false,
    notice: ''
  };
}

function changed(state: ExplorerState, action: Action): ExplorerState {
  switch (action.type) {
    case 'open':
      return { ...stateOf(action.view), marks: state.marks };
    case 'view':
      return { ...state, view: action.view };
    case 'rows':
      return action.columns ? { ...state, rows: withRows(state.rows, action, action.columns) } : state;
    case 'grow':
      return grown(state, action);
    case 'tokens':
      return { ...state, rows: state.rows.withTokens(action.columns) };
    case 'facets':
      return { ...state, facets: action.facets };
    case 'filter':
      return filtered(state, { ...state.filter, ...action.change });
    case 'found':
      return action.found.text === state.filter.text ? found(state, action.found) : state;
    case 'search failed':
      return action.text === state.filter.text
        ? { ...state, filter: { ...state.filter, text: state.hits?.text ?? '' }, notice: action.notice }
        : state;
    case 'excerpts':
      return action.text === state.hits?.text ? { ...state, excerpts: new Map([...state.excerpts, ...action.excerpts]) } : state;
    case 'select':
      return { ...state, selected: action.line, notice: '', hasChanges: false };
    case 'marks':
      return { ...state, marks: action.marks };
    case 'look':
      return looked(state, action.lines);
    case 'changes':
      return { ...state, hasChanges: action.shown };
    case 'notice':
      return action.text === state.notice ? state : { ...state, notice: action.text };
  }
}

function withRows(rows: LogRows, { first, total, chips, known }: Extract<Action, { type: 'rows' }>, columns: Columns): LogRows {
  return (rows.total === total ? rows : LogRows.empty(total)).with(first, columns, chips, known);
}

/** The list filters itself, but for a text, which is searched for first.  It takes the place of the changed files. */
function filtered(state: ExplorerState, filter: TraceFilter): ExplorerState {
  if (sameFilter(filter, state.filter)) {
    return state;
  }
  const without = filter.text ? {} : { hits: null, excerpts: new Map<number, readonly Span[]>() };
  return { ...state, ...without, filter, typed: filter.text, notice: '', hasChanges: false };
}

function found(state: ExplorerState, hits: Found): ExplorerState {
  return { ...state, hits, excerpts: state.hits?.text === hits.text ? state.excerpts : new Map() };
}

function grown(state: ExplorerState, action: Extract<Action, { type: 'grow' }>): ExplorerState {
  const { view, moves, changed: lines, columns, chips, known } = action;
  const { hits } = state;
  const rows = action.rows ?? (columns ? state.rows.grown(moves, columns, chips, known) : LogRows.empty(view.total));
  return {
    ...state,
    view,
    version: view.version,
    rows,
    hits: hits && { ...hits, lines: moves.ofLines(hits.lines) },
    facets: state.facets.map(facet => ({
      ...facet,
      choices: facet.choices.map(choice => ({ ...choice, lines: moves.ofLines(choice.lines) }))
    })),
    filter: moves.ofFilter(state.filter),
    selected: state.selected === null ? null : moves.of(state.selected),
    newLines: new Map([...moved(state.newLines, moves), ...moves.newLines().map(line => [line, 0] as const)]),
    excerpts: new Map([...moved(state.excerpts, moves)].filter(([line]) => !lines.includes(line))),
    moves
  };
}

function moved<T>(values: ReadonlyMap<number, T>, moves: LineMoves): Map<number, T> {
  const entries = [...values].map(([line, value]) => [moves.find(line), value] as const);
  return new Map(entries.filter((entry): entry is [number, T] => entry[0] !== null));
}

function looked(state: ExplorerState, lines: readonly number[]): ExplorerState {
  const seen = lines.filter(line => state.newLines.has(line));
  if (!seen.length) {
    return state;
  }
  const newLines = new Map(state.newLines);
  for (const line of seen) {
    const times = newLines.get(line)! + 1;
    times < SEEN_AFTER ? newLines.set(line, times) : newLines.delete(line);
  }
  return { ...state, newLines };
}

/** Lists the lines again where what they follow from differs from `before`. */
function withListing(state: ExplorerState, before: ExplorerState): ExplorerState {
  const filter = { ...state.filter, text: state.hits?.text ?? '' };
  const shown = sameFilter(filter, before.shown) ? before.shown : filter;
  const isSame = state.rows === before.rows && state.facets === before.facets && state.hits === before.hits && shown === before.shown;
  return isSame ? { ...state, shown } : { ...state, shown, listed: listing(state, shown), offered: offeredFacets(state, shown) };
}
