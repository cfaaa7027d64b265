import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLUMNS, columnStyle, type ListFilter, type ListState } from '../sessions/columns.js';
import { betweenDays, dateOf, lastDays } from '../sessions/period.js';
import { totalsOf, totalsText } from '../sessions/totals_line.js';
import { dayBars } from '../sessions/day_bars.js';
import { listedSessions } from '../sessions/listed.js';
import { ageOf, countText, dollars, shortNumber, type SessionRow, SessionStore } from '../sessions/session_rows.js';
import { NO_TRANSLATION as TRANS } from '../shared/host.js';
import { markedParts, SessionSearch, type SessionsFound } from '../sessions/session_search.js';
import { encode } from './columns.js';

const ALL: ListFilter = { text: '', agent: '', project: '', outcome: '', sort: 'age', descending: true, since: 0, until: 0 };
const UNKNOWN = { calls: NaN, failed: NaN, edits: NaN, added: NaN, removed: NaN, tokens: NaN, duration: NaN, started: NaN, cost: NaN };

function session(key: number, values: Partial<SessionRow>): SessionRow {
  const texts = { id: String(key), title: `Title ${key}`, agent: 'Codex', agentKey: 'codex', model: '', project: 'shop', folder: '~/shop' };
  const others = {
    path: '/work/shop',
    repository: values.path ?? '/work/shop',
    repositoryText: '~/shop',
    times: '',
    durationText: '',
    tokensText: '',
    startedText: '',
    costText: '',
    costNote: '',
    doubt: '',
    problem: '',
    verdict: '',
    others: '',
    disagree: false,
    queued: false
  };
  return { key, changed: 1000 - key, running: false, unread: false, ...texts, ...others, ...UNKNOWN, ...values };
}

const ROWS = [
  session(0, { title: 'beta', calls: 12, failed: 0, edits: 1, added: 5, removed: NaN, model: 'gpt' }),
  session(1, { title: 'Alpha', calls: 100, failed: 3, edits: 0, added: 0, removed: 0, running: true, path: '/work/shop/sub' }),
  session(2, { title: 'gamma', agentKey: 'claude-code', agent: 'Claude Code', path: '/home/Shop', unread: true }),
  session(3, { title: 'delta', calls: 0, failed: 0, tokens: 3, path: '/work/workshop', model: 'Opus' }),
  session(4, { title: 'Epsilon', calls: 12, failed: 1, edits: 2, added: 1, removed: 9, path: '' })
];

function stateOf(filter: Partial<ListFilter>, found: SessionsFound | null = null): ListState {
  return { now: 2000, filter: { ...ALL, ...filter }, found, isReviewed: true };
}

/** Returns what a search has found: sessions by their titles, and the number of hits in the contents of others. */
function foundIn(titles: number[], hits: Record<number, number> = {}): SessionsFound {
  const contents = Object.entries(hits).map(([key, steps]) => [Number(key), { steps, excerpt: `hit ${key}` }] as const);
  return { text: 'x', titles: new Set(titles), contents: new Map(contents), answer: null };
}

function keys(filter: Partial<ListFilter>, found: SessionsFound | null = null): readonly number[] {
  return listedSessions(ROWS, stateOf(filter, found)).keys;
}

test('sessions are sorted, and those whose value is not known come last in both directions', () => {
  assert.deepEqual(keys({}), [0, 1, 2, 3, 4]);
  assert.deepEqual(keys({ descending: false }), [4, 3, 2, 1, 0]);
  assert.deepEqual(keys({ sort: 'calls' }), [1, 0, 4, 3, 2]);
  assert.deepEqual(keys({ sort: 'calls', descending: false }), [3, 0, 4, 1, 2]);
  assert.deepEqual(keys({ sort: 'title', descending: false }), [1, 0, 3, 4, 2]);
  assert.deepEqual(keys({ sort: 'model', descending: false }), [0, 3, 1, 2, 4]);
  assert.deepEqual(keys({ sort: 'edits' }), [4, 1, 0, 2, 3]);
});

test('sessions are selected by agent, project and outcome', () => {
  assert.deepEqual(keys({ agent: 'claude-code' }), [2]);
  assert.deepEqual(keys({ project: '/work/shop' }), [0, 1]);
  assert.deepEqual(keys({ project: 'shop' }), [0, 2]);
  assert.deepEqual(keys({ project: 'none' }), []);
  assert.deepEqual(keys({ project: 'WORK/shop' }), [0]);
  assert.deepEqual(keys({ project: 'orksh' }), [3]);
  assert.deepEqual(keys({ project: '\\work\\shop' }), [0, 1]);
  assert.deepEqual(keys({ since: 998 }), [0, 1, 2]);
  assert.deepEqual(keys({ outcome: 'running' }), [1]);
  assert.deepEqual(keys({ outcome: 'failed' }), [1, 4]);
  assert.deepEqual(keys({ outcome: 'clean' }), [0]);
  assert.deepEqual(keys({ outcome: 'changed' }), [0, 4]);
  assert.deepEqual(keys({ agent: 'codex', outcome: 'failed' }, foundIn([0, 4])), [4]);
  assert.deepEqual(keys({ text: 'x' }, foundIn([])), []);
});

test('a search lists sessions by their titles and by their contents, and sorts by hits', () => {
  const found = foundIn([0, 1], { 1: 3, 2: 30 });
  assert.deepEqual(keys({ text: 'x' }, found), [0, 1, 2]);
  assert.deepEqual(keys({ text: 'x', sort: 'hits' }, found), [2, 1, 0]);
  const hits = COLUMNS.find(({ key }) => key === 'hits')!;
  assert.deepEqual([hits.isShown!(stateOf({})), hits.isShown!(stateOf({}, found))], [false, true]);
  assert.equal(hits.text(ROWS[2]!, stateOf({}, found)), '30');
});

test('the words of a search are marked in an excerpt', () => {
  assert.deepEqual(markedParts('a (B) ab', 'b'), [
    ['a (', false],
    ['B', true],
    [') a', false],
    ['b', true]
  ]);
  assert.deepEqual(markedParts('x two words', '"two words" x'), [
    ['x', true],
    [' ', false],
    ['two words', true]
  ]);
  assert.deepEqual(markedParts('a.b', '.'), [
    ['a', false],
    ['.', true],
    ['b', false]
  ]);
  assert.deepEqual(markedParts('text', ' '), [['text', false]]);
});

test('a search comes in parts, until another one begins', async () => {
  const asked: object[] = [];
  const parts = [
    { keys: [7], hits: [[1, 2]], search: 5, known: 1, left: 2 },
    { keys: [], hits: [[2, 9]], search: 5, known: 2, left: 1 },
    { keys: [], hits: [[1, 0]], search: 5, known: 3, left: 0 }
  ];
  const request = (_method: string, params: object) => {
    asked.push(params);
    const { keys, hits, ...rest } = parts.shift() ?? { keys: [], hits: [], search: 6, known: 0, left: 9 };
    const [block, buffer] = encode(hits.length, {
      key: ['u32', hits.map(([key]) => key!)],
      hits: ['u32', hits.map(([, steps]) => steps!)],
      excerpt: ['text', hits.map(([key]) => `hit ${key}`)]
    });
    return new Promise(resolve =>
      setTimeout(() => resolve({ keys, block, ...rest, missing: 0, changed: 0, incomplete: 0, has_contents: true, buffers: [buffer] }))
    );
  };
  let more = 0;
  const search = new SessionSearch({ client: { request } as never }, 'list', '', () => more++);
  await search.search('x');
  assert.deepEqual([[...search.found!.titles], [...search.found!.contents.keys()], search.isRunning], [[7], [1], true]);
  while (search.isRunning) {
    await new Promise(resolve => setTimeout(resolve));
  }
  await new Promise(resolve => setTimeout(resolve));
  assert.deepEqual([[...search.found!.titles], [...search.found!.contents.keys()], search.isRunning, more], [[7], [2], false, 2]);
  assert.deepEqual(asked[2], { explorer: 'list', text: 'x', search: 5, known: 2, titles: false });
  const other = search.search('y');
  search.stop();
  await other;
  assert.deepEqual([search.found!.text, asked.length], ['x', 4]);
  await search.search('');
  assert.equal(search.found, null);
});

test('every column has a key of its own, and those of figures say how they are sorted', () => {
  const known = COLUMNS.map(({ key }) => key);
  assert.equal(new Set(known).size, known.length);
  assert.equal(known[0], 'title');
  for (const { key, value, text } of COLUMNS) {
    assert.equal(typeof text(ROWS[0]!, stateOf({})), 'string', key);
    assert.ok(value, key);
  }
});

test('a style sheet shows each column from its width on', () => {
  const [title, one, other] = ['title', 'one', 'other'].map((key, i) => ({ ...COLUMNS[0]!, key, width: `${i}px`, from: i * 400 }));
  const style = columnStyle('list', [title!, one!], [other!]);
  assert.deepEqual(style.split('\n'), [
    '@container (min-width: 0px) { .list .nbtools-sessions-row { grid-template-columns: 30px; } }',
    '@container (min-width: 400px) { .list .nbtools-sessions-row { grid-template-columns: 30px minmax(0, 3fr); } }',
    '@container (min-width: 521px) { .list .nbtools-sessions-row { grid-template-columns: 30px 0px 1px; } }',
    '@container (max-width: 399.99px) { .list .nbtools-sessions-one { display: none; } }',
    '.list .nbtools-sessions-other { display: none; }'
  ]);
});

/** Returns the pixels of titles at a width of the list, and whether rows have a column for each cell that is not hidden. */
function titleAt(width: number, state: ListState): [number, boolean] {
  const isShown = (column: (typeof COLUMNS)[number]) => column.isShown?.(state) ?? true;
  const shown = COLUMNS.filter(isShown);
  const lines = columnStyle('list', shown, []).split('\n');
  const limit = (line: string, name: string, otherwise: number) =>
    Number(new RegExp(`${name}-width: ([\\d.]+)px`).exec(line)?.[1] ?? otherwise);
  const rules = lines.filter(line => limit(line, 'min', 0) <= width && width <= limit(line, 'max', Infinity));
  const tracks = /grid-template-columns: ([^;]+);/.exec(rules.filter(line => line.includes('grid-template')).at(-1)!)![1]!;
  const hidden = new Set(rules.filter(line => line.includes('display: none')).map(line => /sessions-(\w+) \{/.exec(line)![1]));
  const sizes = tracks.replace('minmax(0, 1fr)', '').trim().split(/\s+/);
  return [width - sizes.reduce((sum, size) => sum + parseFloat(size), 0), sizes.length === shown.length - hidden.size];
}

test('titles have a third of the list beside the other columns', () => {
  const reviewed = { ...stateOf({}), isReviewed: true };
  for (const state of [{ ...reviewed, isReviewed: false }, reviewed, stateOf({ text: 'x' }, foundIn([1]))]) {
    for (const width of [550, 640, 705, 800, 950, 1070, 1280, 1700]) {
      const [title, isEveryCellPlaced] = titleAt(width, state);
      assert.ok(title >= width / 3, `${title} of ${width}`);
      assert.ok(isEveryCellPlaced, String(width));
    }
  }
});

test('choices are counted under the other filters, the most frequent projects in the order of their paths', () => {
  const { agents, projects, unread } = listedSessions(ROWS, stateOf({ agent: 'codex', project: 'shop' }));
  assert.deepEqual(agents, [
    { key: 'claude-code', label: 'Claude Code', count: 1, group: '' },
    { key: 'codex', label: 'Codex', count: 1, group: '' }
  ]);
  assert.deepEqual(
    projects.map(({ key, count }) => [key, count]),
    [
      ['/work/shop', 1],
      ['/work/shop/sub', 1],
      ['/work/workshop', 1]
    ]
  );
  assert.equal(unread, 0);
  assert.equal(listedSessions(ROWS, stateOf({})).unread, 1);
});

test('a store takes over changed sessions, and refuses damaged answers', () => {
  const store = new SessionStore();
  const reply = { now: 0, left: 0, left_out: 0, folders: [], more: false };
  const [block, data] = encode(2, {
    key: ['u32', [7, 9]],
    flags: ['u8', [1, 2]],
    calls: ['f64', [3, NaN]],
    title: ['text', ['Ä', '']],
    agent: ['word', ['Codex', 'Codex']]
  });
  assert.equal(store.add({ ...reply, version: 4, block, gone: [], buffers: [data] }), true);
  assert.equal(store.version, 4);
  const [one, other] = [store.rows.get(7)!, store.rows.get(9)!];
  assert.deepEqual([one.title, one.agent, one.calls, one.running, one.unread], ['Ä', 'Codex', 3, true, false]);
  assert.deepEqual([other.title, other.calls, other.running, other.unread], ['', NaN, false, true]);
  const [none, noData] = encode(0, {});
  assert.equal(store.add({ ...reply, version: 5, block: none, gone: [7], buffers: [noData] }), true);
  assert.deepEqual([...store.rows.keys()], [9]);
  assert.equal(store.add({ ...reply, version: 5, block: none, gone: [], buffers: [noData] }), false);
  assert.equal(store.add({ ...reply, version: 6, block, gone: [], buffers: [] }), null);
  assert.equal(store.add({ ...reply, version: 6, block, gone: [], buffers: [data.slice(0, 20)] }), null);
  assert.deepEqual([store.version, store.rows.size], [5, 1]);
});

test('bars by day have no gaps, and become weeks and months', () => {
  const rest = { sessions: 1, calls: 0, failed: 0, cost: null, unpriced: 0, lower_bound: false, keys: [] };
  const day = (name: string, tokens: number) => ({ name, tokens, label: name, ...rest });
  const bars = (...names: string[]) =>
    dayBars(
      names.map((name, i) => day(name, i + 1)),
      ({ tokens }) => tokens
    );
  assert.deepEqual(bars(), []);
  assert.deepEqual(bars('', 'nonsense'), []);
  assert.deepEqual(
    bars('2024-02-28', '2024-03-01').map(({ from, to, value }) => [from, to, value]),
    [
      ['2024-02-28', '2024-02-28', 1],
      ['2024-02-29', '2024-02-29', 0],
      ['2024-03-01', '2024-03-01', 2]
    ]
  );
  const weeks = bars('2026-01-01', '2026-01-02', '2026-05-01');
  assert.deepEqual(weeks[0], { from: '2025-12-29', to: '2026-01-04', value: 3 });
  assert.deepEqual(weeks.at(-1), { from: '2026-04-27', to: '2026-05-03', value: 3 });
  const months = bars('2020-01-15', '2026-02-01');
  assert.deepEqual(months[0], { from: '2020-01-01', to: '2020-01-31', value: 1 });
  assert.deepEqual([months.length, months.at(-1)!.to], [74, '2026-02-28']);
  const years = bars('1970-01-01', '2026-02-01');
  assert.deepEqual([years.length, years[0]!.from, years.at(-1)], [57, '1970-01-01', { from: '2026-01-01', to: '2026-12-31', value: 2 }]);
  const broken = bars('0001-01-01', '2026-02-01', '9999-12-31');
  assert.deepEqual([broken.length, broken[20]], [100, { from: '2000-01-01', to: '2099-12-31', value: 2 }]);
  const many = Array.from({ length: 200_000 }, (_, at) => day(new Date(Date.UTC(1500, 0, 1 + at)).toISOString().slice(0, 10), 1));
  assert.equal(dayBars(many, ({ tokens }) => tokens)[0]!.from, '1500-01-01');
});

test('a repository lists its folders and worktrees', () => {
  const rows = [
    session(0, { path: '/work/shop' }),
    session(1, { path: '/work/shop-fix', repository: '/work/shop' }),
    session(2, { path: '/work/other' })
  ];
  assert.deepEqual(listedSessions(rows, stateOf({ project: 'shop' })).keys, [0, 1]);
  assert.deepEqual(listedSessions(rows, stateOf({ project: 'shop-fix' })).keys, [1]);
  const { keys: found, projects } = listedSessions(rows, stateOf({ repository: '/work/shop' }));
  assert.deepEqual(found, [0, 1]);
  assert.deepEqual(
    projects.map(({ key, group }) => [key, group]),
    [
      ['/work/other', '/work/other'],
      ['/work/shop', '/work/shop'],
      ['/work/shop-fix', '/work/shop']
    ]
  );
  assert.deepEqual(listedSessions(rows, stateOf({ only: { label: 'x', keys: new Set([2, 9]) } })).keys, [2]);
});

test('a period lists the sessions that were active in it', () => {
  const rows = [
    session(0, { changed: 500, started: 100 }),
    session(1, { changed: 900, started: NaN }),
    session(2, { changed: 2000, started: 600 })
  ];
  const listed = (since: number, until: number) => listedSessions(rows, stateOf({ since, until })).keys;
  assert.deepEqual(listed(0, 0), [2, 1, 0]);
  assert.deepEqual(listed(600, 0), [2, 1]);
  assert.deepEqual(listed(0, 599), [0]);
  assert.deepEqual(listed(200, 950), [2, 1, 0]);
  assert.deepEqual(listed(501, 599), []);
});

test('periods begin and end at midnight', () => {
  const now = new Date(2026, 10, 29, 15, 30);
  assert.equal(lastDays(1, now).since, new Date(2026, 10, 29).getTime() / 1000);
  assert.equal(lastDays(30, now).since, new Date(2026, 9, 31).getTime() / 1000);
  const { since, until } = betweenDays('2026-10-24', '2026-10-25');
  assert.deepEqual([dateOf(since), dateOf(until), dateOf(until + 1)], ['2026-10-24', '2026-10-25', '2026-10-26']);
  assert.deepEqual(betweenDays('', ''), { since: 0, until: 0 });
  assert.deepEqual(betweenDays('nonsense', '999999-99-99'), { since: 0, until: 0 });
  assert.equal(dateOf(0), '');
});

test('sums lack unknown numbers, and say so', () => {
  const rows = [
    session(0, { calls: 1200, failed: 3, tokens: 5e6, cost: 1.5, costText: '$1.50' }),
    session(1, { unread: true }),
    session(2, { calls: 1, tokens: 10 })
  ];
  assert.equal(totalsText(totalsOf(rows), TRANS), '3 sessions · 1,201 calls · 3 failed · 5.0 M tokens · ≥ $1.50 · 2 of 3 read');
  assert.equal(totalsText(totalsOf(rows.slice(0, 1)), TRANS), '1 session · 1,200 calls · 3 failed · 5.0 M tokens · $1.50');
  assert.equal(totalsText(totalsOf([session(0, {})]), TRANS), '1 session');
  assert.deepEqual([812, 9_960, 38_000, 1_240_000].map(shortNumber), ['812', '10 k', '38 k', '1.2 M']);
  assert.deepEqual([0.01234, 1234.5].map(dollars), ['$0.0123', '$1,234.50']);
});

test('ages and counts are formatted as the kernel formats them', () => {
  const ages: readonly (readonly [number, string])[] = [
    [-5, 'now'],
    [59, 'now'],
    [60, '1 min'],
    [7200, '2 h'],
    [86_400, '1 d'],
    [59 * 86_400, '59 d'],
    [9e6, '3 months'],
    [1e8, '3 years']
  ];
  ages.forEach(([seconds, text]) => assert.equal(ageOf(seconds), text));
  assert.deepEqual([countText(1839, '+'), countText(0), countText(NaN)], ['+1,839', '0', '']);
});

test('verdicts come with an answer of their own, and stay when a session changes', () => {
  const store = new SessionStore();
  ROWS.forEach(row => store.rows.set(row.key, row));
  const reviews = { version: '1', changed: true, reviewer: 'ana', blind: false, done: 1, gone: 0, agreements: [] };
  const verdicts = [
    { key: 0, mine: 'pass', others: 'ben: fail', disagree: true },
    { key: 1, mine: '', others: 'ben: pass', disagree: false },
    { key: 99, mine: 'fail', others: '', disagree: false }
  ];
  assert.equal(store.review({ ...reviews, verdicts, keys: [0, 3] }), true);
  assert.equal(store.review({ ...reviews, verdicts, keys: [0, 3] }), false);
  const listed = (review: ListFilter['review'], sort = 'age') =>
    listedSessions(store.rows.values(), stateOf({ review, sort, descending: false }))
      .keys.slice()
      .sort();
  assert.deepEqual(listed('disagree'), [0]);
  assert.deepEqual(listed('queue'), [0, 3]);
  assert.deepEqual(listed('unreviewed'), [3]);
  assert.deepEqual(listed('pass'), [0]);
  assert.equal(store.rows.get(3)!.queued, true);
  store.review({ ...reviews, verdicts: [], keys: [] });
  assert.deepEqual(listed('unreviewed'), [0, 1, 2, 3, 4]);
  assert.equal(store.rows.get(0)!.verdict, '');
});
