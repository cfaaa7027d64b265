import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COLUMNS, columnStyle, type ListFilter, type ListState } from '../sessions/columns.js';
import { listedSessions } from '../sessions/listed.js';
import { ageOf, countText, type SessionRow, SessionStore } from '../sessions/session_rows.js';
import { encode } from './columns.js';

const ALL: ListFilter = { text: '', agent: '', project: '', outcome: '', sort: 'age', descending: true, since: 0, until: 0 };
const UNKNOWN = { calls: NaN, failed: NaN, edits: NaN, added: NaN, removed: NaN, tokens: NaN, duration: NaN, started: NaN, cost: NaN };

function session(key: number, values: Partial<SessionRow>): SessionRow {
  const texts = { id: String(key), title: `Title ${key}`, agent: 'Codex', agentKey: 'codex', model: '', project: 'shop', folder: '~/shop' };
  const others = {
    path: '/work/shop',
    times: '',
    durationText: '',
    tokensText: '',
    startedText: '',
    costText: '',
    costNote: '',
    doubt: '',
    problem: ''
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

function stateOf(filter: Partial<ListFilter>): ListState {
  return { now: 2000, filter: { ...ALL, ...filter } };
}

function keys(filter: Partial<ListFilter>, hits: ReadonlySet<number> | null = null): readonly number[] {
  return listedSessions(ROWS, stateOf(filter), hits).keys;
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
  assert.deepEqual(keys({ agent: 'codex', outcome: 'failed' }, new Set([0, 4])), [4]);
  assert.deepEqual(keys({ text: 'x' }, new Set()), []);
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

test('choices are counted under the other filters, the most frequent projects in the order of their paths', () => {
  const { agents, projects, unread } = listedSessions(ROWS, stateOf({ agent: 'codex', project: 'shop' }), null);
  assert.deepEqual(agents, [
    { key: 'claude-code', label: 'Claude Code', count: 1 },
    { key: 'codex', label: 'Codex', count: 1 }
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
  assert.equal(listedSessions(ROWS, stateOf({}), null).unread, 1);
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
