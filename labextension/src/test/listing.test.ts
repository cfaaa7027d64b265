import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_FILTER, type TraceFilter } from '../explorer/filter.js';
import { LineMoves } from '../explorer/line_moves.js';
import { listing, nextFailure, offeredFacets, unknownChips, type AddedFacet, type Filterable } from '../explorer/listing.js';
import { LogRows, type Chip } from '../explorer/log_rows.js';
import { readColumns } from '../shared/columns.js';
import { encode } from './columns.js';
import { chipsOf, columnsOf, type TestRow } from './log_rows.js';

const CHIPS = chipsOf('kind:edits', 'kind:shell', 'end:failed', 'end:stopped', 'tool:bash', 'tool:edit', 'path:a.py', 'path:b.py');
const [EDITS, SHELL, FAILED, , BASH, EDIT, A, B] = CHIPS.map((_, id) => id) as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number
];

function logOf(rows: readonly TestRow[], facets: readonly AddedFacet[] = [], chips: readonly Chip[] = CHIPS): Filterable {
  return { rows: LogRows.empty(rows.length).with(0, columnsOf(rows), chips, 0), facets, hits: null };
}

function filterOf(change: Partial<TraceFilter>): TraceFilter {
  return { ...NO_FILTER, ...change };
}

function linesOf(log: Filterable, change: Partial<TraceFilter> = {}): number[] {
  return [...listing(log, filterOf(change)).lines];
}

const ROWS: readonly TestRow[] = [
  { flags: 2 },
  { chips: [SHELL, BASH, FAILED], below: 2 },
  { chips: [EDITS, EDIT, A], depth: 1 },
  { chips: [EDITS, EDIT, A, B, FAILED], depth: 1 },
  { chips: [SHELL, BASH] }
];

test('rows are those that were encoded; one that is not loaded is null', () => {
  const row = { number: '7.1', subject: 'src/a.py', icon: 'pencil', name: 'edit', right: 'exit 1', tone: 'failed', depth: 2, below: 3 };
  const rows = LogRows.empty(3).with(1, columnsOf([{ ...row, flags: 1, added: 4 }]), CHIPS, 0);
  assert.deepEqual(rows.row(1), { line: 1, ...row, call: true, live: false, added: 4, removed: 0 });
  assert.equal(rows.row(1), rows.row(1));
  assert.deepEqual([rows.row(0), rows.row(2), rows.row(-1), rows.row(3)], [null, null, null, null]);
  assert.deepEqual([rows.total, rows.firstMissing, rows.lineOf('7.1'), rows.lineOf('8')], [3, 0, 1, null]);
});

test('a log is loaded in stretches; each reply has the chips that are new', () => {
  const first = LogRows.empty(4).with(0, columnsOf([{ chips: [0] }, { chips: [0, 1] }]), chipsOf('tool:a', 'tool:b'), 0);
  assert.deepEqual([first.firstMissing, [...first.linesOf('tool:a')]], [2, [0, 1]]);
  const all = first.with(2, columnsOf([{ chips: [2] }, { chips: [1] }]), chipsOf('tool:b', 'tool:c'), 1);
  assert.deepEqual([all.firstMissing, [...all.linesOf('tool:b')], [...all.linesOf('tool:c')]], [null, [1, 3], [2]]);
  assert.deepEqual(
    all.chips.map(({ key }) => key),
    ['tool:a', 'tool:b', 'tool:c']
  );
  assert.deepEqual([...first.linesOf('tool:c')], []); // a snapshot does not change
});

test('chips of one facet add up, those of different facets and the range combine', () => {
  const log = logOf(ROWS);
  assert.deepEqual(linesOf(log), [0, 1, 2, 3, 4]);
  assert.deepEqual(linesOf(log, { chips: ['kind:shell'] }), [1, 4]);
  assert.deepEqual(linesOf(log, { chips: ['kind:shell', 'kind:edits'] }), [1, 2, 3, 4]);
  assert.deepEqual(linesOf(log, { chips: ['kind:shell', 'end:failed'] }), [1]);
  assert.deepEqual(linesOf(log, { chips: ['path:a.py', 'path:b.py'], first: 3 }), [3]);
  assert.deepEqual(linesOf(log, { first: 1, last: 2 }), [1, 2]);
  assert.deepEqual(linesOf(log, { chips: ['tool:none'] }), []);
  assert.equal(listing(log, NO_FILTER).calls, 4);
});

test('folding hides nested lines, also those that match', () => {
  const log = logOf(ROWS);
  assert.deepEqual(linesOf(log, { folded: [1] }), [0, 1, 4]);
  assert.deepEqual(linesOf(log, { folded: [1], chips: ['kind:edits'] }), []);
  assert.deepEqual(linesOf(log, { folded: [4, 99] }), [0, 1, 2, 3, 4]);
});

test('each choice counts its lines under the other facets of the filter', () => {
  const counts = (chips: string[]) =>
    Object.fromEntries(
      offeredFacets(logOf(ROWS), filterOf({ chips })).flatMap(({ choices }) => choices.map(({ key, count }) => [key, count]))
    );
  assert.deepEqual(counts([]), {
    'kind:edits': 2,
    'kind:shell': 2,
    'end:failed': 2,
    'tool:bash': 2,
    'tool:edit': 2,
    'path:a.py': 2,
    'path:b.py': 1
  });
  const failed = counts(['end:failed', 'kind:shell', 'tool:gone']);
  assert.deepEqual([failed['kind:edits'], failed['kind:shell'], failed['end:failed']], [0, 0, 0]);
  assert.equal(failed['tool:gone'], 0);
  assert.equal(counts(['end:failed'])['kind:edits'], 1);
});

test('tools and files with the most lines come first, 200 at most; a chosen one is always among them', () => {
  const many = Array.from({ length: 300 }, (_, i) => `path:${String(i).padStart(3, '0')}`);
  const rows = many.map((_, i): TestRow => ({ chips: i % 3 ? [i] : [i, 299] }));
  const offered = (chips: string[]) => offeredFacets(logOf(rows, [], chipsOf(...many)), filterOf({ chips })).at(-1)!.choices;
  assert.deepEqual([offered([]).length, offered([])[0]!.key, offered([])[1]!.key], [200, 'path:299', 'path:000']);
  assert.deepEqual(offered(['path:290']).at(-1), { key: 'path:290', label: '290', title: '', count: 1 });
});

test('added facets filter like those of the rows; a chip of no facet is unknown', () => {
  const choice = { key: 'review:fail', label: 'fail', title: '', lines: [1, 3] };
  const log = logOf(ROWS, [{ name: 'review', label: 'Review', menu: false, choices: [choice] }]);
  assert.deepEqual(linesOf(log, { chips: ['review:fail', 'kind:edits'] }), [3]);
  assert.equal(offeredFacets(log, filterOf({ chips: ['kind:edits'] })).at(-1)!.choices[0]!.count, 1);
  assert.deepEqual(unknownChips(log, ['review:fail', 'mine:x', 'kind:none']), [['mine:x'], ['kind', 'end', 'tool', 'path', 'review']]);
});

test('a search lists its hits, and those that are found later', () => {
  const log = logOf(ROWS);
  assert.deepEqual(linesOf(log, { text: 'x' }), []);
  const found = { ...log, hits: { lines: Uint32Array.of(2, 4), indexed: 40 } };
  assert.deepEqual(linesOf(found, { text: 'x' }), [2, 4]);
  assert.deepEqual(linesOf(found, { text: 'x', chips: ['kind:shell'] }), [4]);
});

test('the slowest, or those with the most tokens, come first; equal ones in their order, unknown ones last', () => {
  const rows = [NaN, 2, 5, 0, 2, NaN].map((seconds): TestRow => ({ seconds }));
  const log = logOf(rows);
  assert.deepEqual(linesOf(log, { order: 'duration' }), [2, 1, 4, 3, 0, 5]);
  assert.deepEqual(linesOf(log, { order: 'tokens' }), [0, 1, 2, 3, 4, 5]);
  const texts = { text: ['word', ['one', '', 'three', 'two']], short: ['word', ['1', '', '3', '2']] } as const;
  assert.ok(log.rows.hasAmounts('tokens')); // not known yet
  assert.ok(log.rows.hasAmounts('duration') && !logOf([{}, {}].map(() => ({ seconds: NaN }))).rows.hasAmounts('duration'));
  const tokens = readColumns(...encode(4, { tokens: ['f64', [1, NaN, 3, 2]], ...texts }))!;
  const none = readColumns(...encode(6, { tokens: ['f64', Array.from({ length: 6 }, () => NaN)] }))!;
  assert.ok(!log.rows.withTokens(none).hasAmounts('tokens'));
  const withTokens = { ...log, rows: log.rows.withTokens(tokens) };
  assert.deepEqual(linesOf(withTokens, { order: 'tokens' }), [2, 3, 0, 1, 4, 5]);
  const amounts = [withTokens.rows.amountAt(2, 'tokens'), withTokens.rows.amountAt(4, 'tokens'), log.rows.amountAt(0, 'duration')];
  assert.deepEqual(amounts, [
    { text: '3', detail: 'three' },
    { text: '', detail: '' },
    { text: '', detail: '' }
  ]);
  const listed = listing(log, filterOf({ order: 'duration' }));
  assert.deepEqual([listed.indexOf(4), listed.indexOf(99)], [2, 0]);
});

test('durations are written as the kernel writes them', () => {
  const seconds = [0, 0.026, 12.44, 59.94, 59.96, 125, 4200, 1e9, -1];
  const { rows } = logOf(seconds.map((one): TestRow => ({ seconds: one })));
  assert.deepEqual(
    seconds.map((_, line) => rows.amountAt(line, 'duration').text),
    ['0 s', '0.03 s', '12.4 s', '59.9 s', '1 min', '2 min 5 s', '1 h 10 min', '277,777 h 46 min', '0 s']
  );
});

test('the index of a line is that of the nearest one that is listed', () => {
  const listed = listing(logOf(ROWS), filterOf({ chips: ['kind:edits'] }));
  assert.deepEqual(
    [0, 2, 3, 4].map(line => listed.indexOf(line)),
    [0, 0, 1, 1]
  );
  assert.deepEqual([listed.count([1, 2]), listed.count([])], [1, 0]);
  assert.equal(listing(logOf(ROWS), filterOf({ chips: ['tool:none'] })).indexOf(3), -1);
});

test('the parent is the listed line above that is less deep', () => {
  assert.deepEqual([listing(logOf(ROWS), NO_FILTER).parent(3), listing(logOf(ROWS), NO_FILTER).parent(4)], [1, null]);
  assert.equal(listing(logOf(ROWS), filterOf({ chips: ['kind:edits'] })).parent(1), null);
});

test('the next failure is one that the filter lists', () => {
  const next = (from: number, direction: 1 | -1, chips: string[] = []) => nextFailure(logOf(ROWS), filterOf({ chips }), from, direction);
  assert.deepEqual([next(-1, 1), next(1, 1), next(3, 1)], [1, 3, null]);
  assert.deepEqual([next(4, -1), next(3, -1), next(1, -1), next(-1, -1)], [3, 1, null, null]);
  assert.deepEqual([next(-1, 1, ['kind:edits']), next(3, -1, ['kind:edits', 'end:stopped'])], [3, null]);
  const others = logOf([{}, { chips: [1] }, { chips: [0] }, { chips: [2] }], [], chipsOf('end:failed', 'end:errors', 'end:other failures'));
  assert.deepEqual(
    [-1, 1, 2].map(from => nextFailure(others, NO_FILTER, from, 1)),
    [1, 2, 3]
  );
});

test('rows move with the lines of a log that has grown, and changed rows replace those before', () => {
  const { rows } = logOf(ROWS);
  const moves = new LineMoves(
    [
      { first: 0, to: 0, count: 2 },
      { first: 2, to: 3, count: 3 }
    ],
    7
  );
  const change = columnsOf([
    { line: 1, number: '2', chips: [SHELL, BASH], below: 3 },
    { line: 2, number: '2.1', chips: [8], depth: 1 },
    { line: 6, number: '4' }
  ]);
  const names = ['0', '1', '2', '3', '4'];
  const tokens = readColumns(...encode(5, { tokens: ['f64', [0, 1, 2, 3, 4]], text: ['word', names], short: ['word', names] }))!;
  const grown = rows.withTokens(tokens).grown(moves, change, chipsOf('path:new.py'), 8);
  assert.deepEqual(
    Array.from({ length: 7 }, (_, line) => grown.row(line)?.number),
    ['1', '2', '2.1', '3', '4', '5', '4']
  );
  assert.deepEqual([grown.total, grown.firstMissing, grown.row(3)?.line], [7, null, 3]);
  assert.deepEqual(
    [[...grown.linesOf('path:a.py')], [...grown.linesOf('end:failed')], [...grown.linesOf('path:new.py')]],
    [[3, 4], [4], [2]]
  );
  assert.deepEqual(
    [2, 3, 6].map(line => grown.amountAt(line, 'tokens').detail),
    ['', '2', '']
  );
  assert.deepEqual([rows.total, rows.row(2)?.number, [...rows.linesOf('end:failed')]], [5, '3', [1, 3]]);
});

test('rows that were not loaded when the log grew are still missing', () => {
  const rows = LogRows.empty(5).with(0, columnsOf([{}, {}]), CHIPS, 0);
  const grown = rows.grown(new LineMoves([{ first: 0, to: 1, count: 5 }], 6), columnsOf([{ line: 0 }]), [], CHIPS.length);
  assert.deepEqual([grown.firstMissing, grown.row(2)?.line, grown.row(3)], [3, 2, null]);
});

test('a hostile reply changes nothing outside of the log', () => {
  const rows = LogRows.empty(2).with(0, columnsOf([{}, { chips: [0, 99] }]), CHIPS, 0);
  assert.deepEqual([[...rows.linesOf('kind:edits')], rows.offered('path', 200)], [[1], []]);
  const stretch = rows.with(1, columnsOf([{ number: 'a' }, { number: 'b' }]), [], 99);
  assert.deepEqual([stretch.total, stretch.row(1)?.number, stretch.row(2)], [2, 'a', null]);
  const moves = new LineMoves([{ first: 0, to: 1, count: 9 }], 2);
  const grown = rows.grown(moves, columnsOf([{ line: 7 }]), [], 0);
  assert.deepEqual([grown.total, grown.row(1)?.number, grown.row(0)], [2, '1', null]);
  const facet = { name: 'x', label: '', menu: false, choices: [{ key: 'x:y', label: '', title: '', lines: [-1, 0.5, 1, 2 ** 40, NaN] }] };
  assert.deepEqual(linesOf({ rows, facets: [facet], hits: null }, { chips: ['x:y'] }), [1]);
});

/** Random numbers that are the same in each run. */
function generator(seed: number): (below: number) => number {
  return below => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((seed / 2 ** 31) * below);
  };
}

test('listing, counts, order and failures are those of a plain implementation', () => {
  const random = generator(7);
  const keys = CHIPS.map(({ key }) => key);
  const facetOf = (key: string) => key.split(':')[0]!;
  const some = <T>(values: readonly T[], share: number) => values.filter(() => random(100) < share);
  for (let round = 0; round < 200; round++) {
    const size = 1 + random(30);
    const rows = Array.from({ length: size }, (_, line) => ({
      chips: keys.map((_, id) => id).filter(() => random(3) === 0),
      below: random(4) ? 0 : Math.min(random(5), size - 1 - line),
      depth: random(3),
      flags: random(4),
      seconds: random(3) ? random(4) : NaN
    }));
    const hits = { lines: Uint32Array.from(some([...rows.keys()], 60)), indexed: 100 };
    const reviewed = some([...rows.keys()], 40);
    const facet = { name: 'review', label: '', menu: false, choices: [{ key: 'review:pass', label: '', title: '', lines: reviewed }] };
    const log: Filterable = { ...logOf(rows, [facet]), hits };
    const range = [random(size), random(size)].sort((a, b) => a - b);
    const filter: TraceFilter = {
      text: random(2) ? 'x' : '',
      chips: some([...keys, 'review:pass', 'path:gone'], 20),
      first: random(2) ? range[0]! : null,
      last: random(2) ? range[1]! : null,
      folded: some([...rows.keys()], 10),
      order: random(3) ? '' : 'duration'
    };
    const has = (line: number, key: string) =>
      key === 'review:pass' ? reviewed.includes(line) : rows[line]!.chips.includes(keys.indexOf(key));
    const matches = (line: number, chips: readonly string[]) =>
      [...new Set(chips.map(facetOf))].every(name => chips.some(chip => facetOf(chip) === name && has(line, chip))) &&
      (!filter.text || hits.lines.includes(line)) &&
      line >= (filter.first ?? 0) &&
      line <= (filter.last ?? Infinity);
    const isFolded = (line: number) => filter.folded.some(fold => line > fold && line <= fold + rows[fold]!.below);
    const amount = (line: number) => (Number.isNaN(rows[line]!.seconds) ? -1 : rows[line]!.seconds);
    const lists = (chips: readonly string[]) => [...rows.keys()].filter(line => matches(line, chips) && !isFolded(line));
    const expected = lists(filter.chips);
    filter.order && expected.sort((a, b) => amount(b) - amount(a));
    const listed = listing(log, filter);
    assert.deepEqual([...listed.lines], expected);
    assert.equal(listed.calls, expected.filter(line => rows[line]!.flags & 1).length);
    for (const { name, choices } of offeredFacets(log, filter)) {
      const others = filter.chips.filter(chip => facetOf(chip) !== name);
      for (const { key, count } of choices) {
        assert.equal(count, [...rows.keys()].filter(line => has(line, key) && matches(line, others)).length, key);
      }
    }
    const ends = ['end:failed', 'end:errors', 'end:other failures'];
    const failed = lists([...filter.chips.filter(chip => facetOf(chip) !== 'end'), ...ends]);
    const from = random(size);
    assert.equal(nextFailure(log, filter, from, 1), failed.find(line => line > from) ?? null);
    assert.equal(nextFailure(log, filter, from, -1), failed.filter(line => line < from).at(-1) ?? null);
  }
});
