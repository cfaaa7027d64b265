import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readColumns } from '../shared/columns.js';
import { LineMoves } from '../explorer/line_moves.js';
import type { TraceView } from '../explorer/model.js';
import {
  hitsIn,
  INITIAL_STATE,
  isIndexing,
  isSearchPending,
  listedNews,
  reduce,
  selectedRow,
  type Action,
  type ExplorerState
} from '../explorer/state.js';
import { encode } from './columns.js';
import { chipsOf, columnsOf, type TestRow } from './log_rows.js';

const CHIPS = chipsOf('kind:edits', 'kind:shell', 'end:failed');
const ROWS: readonly TestRow[] = [{}, { chips: [1], below: 2 }, { chips: [0], depth: 1 }, { chips: [0, 2], depth: 1 }, { chips: [1, 2] }];

function viewOf(total: number, version = 0): TraceView {
  return { explorer: 'a', total, version, facts: [], bars: [] } as unknown as TraceView;
}

function after(state: ExplorerState, ...actions: readonly Action[]): ExplorerState {
  return actions.reduce(reduce, state);
}

/** An explorer whose rows are all loaded. */
function loaded(rows = ROWS): ExplorerState {
  const { length: total } = rows;
  return after(
    INITIAL_STATE,
    { type: 'open', view: viewOf(total) },
    { type: 'rows', first: 0, total, columns: columnsOf(rows), chips: CHIPS, known: 0 }
  );
}

const filter = (change: Extract<Action, { type: 'filter' }>['change']): Action => ({ type: 'filter', change });
const found = (text: string, lines: number[], indexed = 100): Action => ({
  type: 'found',
  found: { text, lines: Uint32Array.from(lines), indexed }
});
const lines = ({ listed }: ExplorerState) => [...listed.lines];

/** The log with two lines above the third one, and one at its end. */
const GROWTH: Action = {
  type: 'grow',
  view: viewOf(8, 1),
  moves: new LineMoves(
    [
      { first: 0, to: 0, count: 2 },
      { first: 2, to: 4, count: 3 }
    ],
    8
  ),
  changed: [4],
  rows: null,
  columns: columnsOf([{ line: 2 }, { line: 3 }, { line: 7, chips: [0] }]),
  chips: [],
  known: CHIPS.length
};

test('the text of a search that has failed is what the person has typed, until another one', () => {
  const failed = after(loaded(), filter({ text: 'pip' }), { type: 'search failed', text: 'pip', notice: 'gone' });
  assert.deepEqual([failed.filter.text, failed.typed, failed.notice], ['', 'pip', 'gone']);
  assert.deepEqual([after(failed, filter({ chips: ['kind:shell'] })).typed, after(failed, filter({ text: 'uv' })).typed], ['', 'uv']);
});

test('all lines are listed before they are loaded, and stay when they are', () => {
  const opened = after(INITIAL_STATE, { type: 'open', view: viewOf(3) });
  assert.deepEqual([lines(opened), opened.rows.row(1), opened.rows.firstMissing], [[0, 1, 2], null, 0]);
  const first = after(opened, { type: 'rows', first: 0, total: 3, columns: columnsOf([{}, {}]), chips: [], known: 0 });
  assert.deepEqual([lines(first), first.rows.row(1)?.number, first.rows.firstMissing], [[0, 1, 2], '2', 2]);
});

test('the rows say how long the log is, where a saved view does not', () => {
  const opened = after(INITIAL_STATE, { type: 'open', view: viewOf(0) });
  const state = after(opened, { type: 'rows', first: 0, total: 2, columns: columnsOf([{}, {}]), chips: [], known: 0 });
  assert.deepEqual([lines(state), state.rows.total], [[0, 1], 2]);
});

test('chips, ranges, folds and orders filter at once, and other parts of the state stay', () => {
  const selected = after(loaded(), { type: 'select', line: 3 }, { type: 'notice', text: 'old' });
  const edits = after(selected, filter({ chips: ['kind:edits'] }));
  assert.deepEqual([lines(edits), selectedRow(edits), edits.notice, edits.shown.chips], [[2, 3], 1, '', ['kind:edits']]);
  const shell = after(edits, filter({ chips: ['kind:shell'] }));
  assert.deepEqual([lines(shell), shell.selected, selectedRow(shell)], [[1, 4], 3, null]);
  assert.deepEqual(lines(after(selected, filter({ folded: [1] }))), [0, 1, 4]);
  assert.equal(after(edits, filter({ chips: ['kind:edits'] })), edits);
  assert.equal(shell.offered.flatMap(({ choices }) => choices).find(({ key }) => key === 'end:failed')?.count, 1);
});

test('the list waits for the hits of a text, while other filters work', () => {
  const typed = after(loaded(), filter({ text: 'x' }));
  assert.deepEqual([lines(typed), isSearchPending(typed)], [[0, 1, 2, 3, 4], true]);
  const failed = after(typed, filter({ chips: ['end:failed'] }));
  assert.deepEqual([lines(failed), failed.shown.text], [[3, 4], '']);
  const searched = after(failed, found('w', [0]), found('x', [1, 3], 50));
  assert.deepEqual([lines(searched), isSearchPending(searched), isIndexing(searched)], [[3], false, true]);
  const complete = after(searched, found('x', [3, 4]));
  assert.deepEqual([lines(complete), isIndexing(complete)], [[3, 4], false]);
  const next = after(complete, filter({ text: 'y' }));
  assert.deepEqual([lines(next), next.shown.text, isSearchPending(next)], [[3, 4], 'x', true]);
  const without = after(next, filter({ text: '', chips: [] }));
  assert.deepEqual([lines(without), without.hits, isSearchPending(without)], [[0, 1, 2, 3, 4], null, false]);
});

test('a search that fails leaves the one before', () => {
  const state = after(loaded(), filter({ text: 'x' }), found('x', [1]), filter({ text: '"' }));
  const failed = after(state, { type: 'search failed', text: '"', notice: 'No.' });
  assert.deepEqual([failed.filter.text, lines(failed), failed.notice], ['x', [1], 'No.']);
  assert.equal(after(state, { type: 'search failed', text: 'z', notice: 'No.' }), state);
});

test('excerpts are those of the text that is listed, and have the hits to mark in a step', () => {
  const state = after(loaded(), filter({ text: 'x' }), found('x', [1, 3]));
  const spans = [['a ', ''] as const, ['X', 'hit code'] as const, ['x', 'hit'] as const, ['Y', 'hit'] as const];
  const excerpts = after(state, { type: 'excerpts', text: 'x', excerpts: [[1, spans]] });
  assert.deepEqual([hitsIn(excerpts, 1), hitsIn(excerpts, 3), hitsIn(excerpts, null)], [['x', 'y'], [], []]);
  assert.equal(after(state, { type: 'excerpts', text: 'w', excerpts: [[1, spans]] }).excerpts.size, 0);
  assert.equal(after(excerpts, found('x', [1, 3, 4])).excerpts.size, 1);
  assert.equal(after(excerpts, filter({ text: 'y' }), found('y', [1])).excerpts.size, 0);
});

test('a log that grows keeps filter, selection, hits and excerpts at their lines', () => {
  const spans = [['x', 'hit'] as const];
  const before = after(
    loaded(),
    filter({ text: 'x', chips: ['kind:edits'], first: 1, last: 3, folded: [4] }),
    found('x', [2, 3]),
    {
      type: 'excerpts',
      text: 'x',
      excerpts: [
        [2, spans],
        [3, spans]
      ]
    },
    {
      type: 'facets',
      facets: [{ name: 'review', label: '', menu: false, choices: [{ key: 'review:pass', label: '', title: '', lines: [3] }] }]
    },
    { type: 'select', line: 3 }
  );
  const grown = after(before, GROWTH);
  assert.deepEqual([grown.rows.total, grown.version, grown.selected, selectedRow(grown)], [8, 1, 5, 1]);
  assert.deepEqual([grown.filter.first, grown.filter.last, grown.filter.folded], [1, 5, [6]]);
  assert.deepEqual([lines(grown), [...grown.hits!.lines], [...grown.excerpts.keys()]], [[4, 5], [4, 5], [5]]); // what line 4 says has changed
  assert.deepEqual(Array.from(grown.facets[0]!.choices[0]!.lines), [5]);
  assert.deepEqual(lines(before), [2, 3]);
});

test('new lines are counted where they are listed, until they have been visible for a while', () => {
  const grown = after(loaded(), GROWTH);
  assert.deepEqual([[...grown.newLines.keys()], listedNews(grown)], [[2, 3, 7], 3]);
  assert.equal(listedNews(after(grown, filter({ chips: ['kind:edits'] }))), 1);
  assert.equal(listedNews(after(grown, filter({ folded: [1] }))), 1); // the others are nested under the second line
  assert.equal(listedNews(after(grown, filter({ order: 'duration' }))), 0);
  const look: Action = { type: 'look', lines: [0, 2, 3] };
  const seen = after(grown, look, look, look);
  assert.equal(seen.newLines.size, 3);
  assert.deepEqual([...after(seen, look).newLines.keys()], [7]);
  assert.equal(after(grown, { type: 'look', lines: [0, 1] }), grown);
});

test('a log that was rewritten is shown as it is now', () => {
  const state = after(loaded(), { type: 'select', line: 1 }, filter({ text: 'x' }), found('x', [1]));
  const rows = after(INITIAL_STATE, { type: 'open', view: viewOf(2) }).rows.with(0, columnsOf([{ number: 'a' }, { number: 'b' }]), [], 0);
  const rewritten = after(state, { ...GROWTH, view: viewOf(2, 5), moves: new LineMoves([], 2, true), rows, columns: null });
  assert.deepEqual([rewritten.rows.row(1)?.number, rewritten.selected, rewritten.newLines.size], ['b', 1, 0]);
  assert.deepEqual([lines(rewritten), lines(after(rewritten, found('x', [0])))], [[], [0]]);
});

test('tokens sort the list once they are loaded', () => {
  const sorted = after(loaded(), filter({ order: 'tokens' }));
  assert.deepEqual(lines(sorted), [0, 1, 2, 3, 4]);
  const columns = readColumns(...encode(5, { tokens: ['f64', [1, 5, NaN, 7, 5]] }))!;
  assert.deepEqual(lines(after(sorted, { type: 'tokens', columns })), [3, 1, 4, 0, 2]);
});

test('another log has no filter and no selection, and keeps the marks until they are loaded again', () => {
  const marks = new Map([[1, []]]);
  const state = after(loaded(), { type: 'select', line: 2 }, filter({ chips: ['kind:edits'] }), { type: 'marks', marks });
  const other = after(state, { type: 'open', view: { ...viewOf(1), explorer: 'b' } });
  assert.deepEqual([other.selected, other.filter.chips, lines(other), other.marks], [null, [], [0], marks]);
});

test('a step that is selected takes the place of the list of changed files', () => {
  const changes = after(loaded(), { type: 'changes', shown: true });
  assert.deepEqual([changes.hasChanges, after(changes, { type: 'select', line: 0 }).hasChanges], [true, false]);
});

test('a filter or another order shows the list instead of the changed files', () => {
  const changes = after(loaded(), { type: 'changes', shown: true });
  assert.equal(changes.hasChanges, true);
  assert.equal(after(changes, filter({})).hasChanges, true);
  assert.equal(after(changes, filter({ chips: ['kind:shell'] })).hasChanges, false);
  assert.equal(after(changes, filter({ order: 'duration' })).hasChanges, false);
});
