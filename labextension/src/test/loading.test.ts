import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columnsOf as replyColumns, Loading } from '../explorer/loading.js';
import { LineMoves } from '../explorer/line_moves.js';
import type { TraceView } from '../explorer/model.js';
import type { ExplorerContext } from '../explorer/explorer_context.js';
import { LogRequests, RequestFailed } from '../explorer/requests.js';
import { INITIAL_STATE, reduce, type Action, type ExplorerState } from '../explorer/state.js';
import { encode } from './columns.js';

Object.assign(globalThis, { window: globalThis });

type Params = Readonly<Record<string, number & string & readonly number[]>>;

/** An explorer's page without views, and the kernel that answers it. */
class Page {
  state: ExplorerState;
  readonly asked: (readonly [string, Params])[] = [];
  outdated = 0;
  /** The version of the kernel, and the percentages of the log that its searches have read. */
  version = 0;
  indexed = [100];
  readonly answers: Record<string, (params: Params) => object>;
  readonly loading: Loading;

  constructor(readonly total: number) {
    const view = { explorer: 'a', total, version: 0 } as unknown as TraceView;
    this.state = reduce(INITIAL_STATE, { type: 'open', view });
    this.answers = {
      'trace.rows': ({ first = 0, count = 0, chips = 0 }) => ({
        first,
        total: this.total,
        first_chip: chips,
        chips: chips ? [] : [{ facet: 'kind', key: 'kind:edits', label: 'edits', title: '' }],
        ...block(Array.from({ length: Math.min(count, this.total - first) }, (_, i) => first + i))
      }),
      'trace.facets': () => ({ facets: [] }),
      'trace.tokens': () => block([]),
      'trace.search': () => ({ indexed: this.indexed.shift() ?? 100, ...block([1, 2]) }),
      'trace.excerpts': ({ lines }) => ({ excerpts: [...lines!].map(line => [[`line ${line}`, 'hit']]) })
    };
    const ask = async (method: string, params: Params) => {
      this.asked.push([method, params]);
      const isCurrent = (params['version'] ?? this.version) === this.version;
      return { version: this.version, buffers: [], block: null, ...(isCurrent ? this.answers[method]!(params) : {}) };
    };
    this.loading = new Loading({ ask } as unknown as LogRequests, {
      dispatch: action => this.dispatch(action),
      state: () => this.state,
      onOutdated: () => this.outdated++
    });
  }

  dispatch(action: Action): void {
    this.state = reduce(this.state, action);
  }

  /** The log has grown in the kernel, and the page follows it. */
  grow(): void {
    const view = { explorer: 'a', total: this.total, version: ++this.version } as unknown as TraceView;
    const moves = new LineMoves([{ first: 0, to: 0, count: this.total }], this.total);
    const { block: none, buffers } = block([]);
    this.dispatch({ type: 'grow', view, moves, changed: [], rows: null, columns: replyColumns(none, buffers), chips: [], known: 1 });
  }

  askedFor(method: string): Params[] {
    return this.asked.filter(([name]) => name === method).map(([, params]) => params);
  }
}

function block(lines: readonly number[]) {
  const [columns, buffer] = encode(lines.length, { number: ['text', lines.map(String)], line: ['u32', lines] });
  return { block: columns, buffers: [buffer] };
}

test('the first rows come first, then all others in stretches, then what does not follow from them', async () => {
  const page = new Page(60_000);
  await page.loading.load();
  assert.deepEqual(
    page.askedFor('trace.rows').map(({ first, count, chips }) => [first, count, chips]),
    [
      [0, 2000, 0],
      [2000, 25_000, 1],
      [27_000, 25_000, 1],
      [52_000, 25_000, 1]
    ]
  );
  assert.deepEqual([page.state.rows.firstMissing, page.state.rows.row(59_999)?.number], [null, '59999']);
  assert.deepEqual(
    page.asked.slice(-2).map(([method]) => method),
    ['trace.facets', 'trace.tokens']
  );
  await page.loading.load();
  assert.equal(page.asked.length, 6); // nothing is missing
});

test('the page follows a log of which the kernel has other lines, and then loads them', async () => {
  const page = new Page(3000);
  page.version = 1;
  await page.loading.load();
  assert.deepEqual([page.outdated, page.asked.length, page.state.rows.firstMissing], [1, 1, 0]);
  page.version = 0;
  page.grow();
  await page.loading.load();
  assert.deepEqual([page.outdated, page.state.rows.firstMissing], [1, null]);
});

test('a log that is opened again is loaded, also while what belongs to the earlier one is on its way', async () => {
  const page = new Page(10);
  const opened: Promise<void>[] = [];
  const open = (explorer: string) => () => {
    page.answers['trace.rows'] = rows;
    page.answers['trace.tokens'] = () => block([]);
    page.dispatch({ type: 'open', view: { explorer, total: 10, version: 0 } as unknown as TraceView });
    opened.push(page.loading.load());
  };
  const rows = page.answers['trace.rows']!;
  const [openB, openC] = [open('b'), open('c')];
  page.answers['trace.rows'] = params => (openB(), { ...rows(params), ...block([7]) });
  await page.loading.load();
  assert.deepEqual([page.state.view?.explorer, page.state.rows.firstMissing, page.state.rows.row(0)?.number], ['b', null, '0']);
  page.dispatch({ type: 'open', view: { explorer: 'a', total: 10, version: 0 } as unknown as TraceView });
  page.answers['trace.tokens'] = () => (openC(), block([]));
  await page.loading.load();
  await Promise.all(opened);
  assert.deepEqual([page.state.view?.explorer, page.state.rows.firstMissing], ['c', null]);
});

test('requests end where the kernel does not send what it has', async () => {
  const page = new Page(3000);
  page.answers['trace.rows'] = () => ({ first: 0, total: 3000, first_chip: 0, chips: [], ...block([]) });
  await page.loading.load();
  assert.equal(page.asked.length, 1);
});

test('rows that cannot be loaded are a notice, and can be requested again', async () => {
  const page = new Page(10);
  const rows = page.answers['trace.rows']!;
  page.answers['trace.rows'] = () => {
    throw new RequestFailed('The log has gone.');
  };
  await page.loading.load();
  assert.equal(page.state.notice, 'The log has gone.');
  page.answers['trace.rows'] = rows;
  await page.loading.load();
  assert.equal(page.state.rows.firstMissing, null);
});

test('a search is sent again until the log is indexed', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const page = new Page(10);
  page.indexed = [20, 60, 100];
  page.dispatch({ type: 'filter', change: { text: 'x' } });
  await page.loading.search();
  for (const indexed of [20, 60, 100, 100]) {
    assert.equal(page.state.hits?.indexed, indexed);
    t.mock.timers.tick(250);
    await new Promise(resolve => setImmediate(resolve));
  }
  assert.equal(page.askedFor('trace.search').length, 3);
});

test('a search for another text ends the one before', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const page = new Page(10);
  page.indexed = [20];
  page.dispatch({ type: 'filter', change: { text: 'x' } });
  await page.loading.search();
  page.dispatch({ type: 'filter', change: { text: '' } });
  t.mock.timers.tick(1000);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual([page.askedFor('trace.search').length, page.state.hits], [1, null]);
});

test('the page requests each excerpt once, for the lines that are in view now', async () => {
  const page = new Page(10);
  page.dispatch({ type: 'filter', change: { text: 'x' } });
  await page.loading.excerpts([1]); // without hits, there are none
  await page.loading.search();
  await Promise.all([page.loading.excerpts([1, 2]), page.loading.excerpts([2, 3])]);
  await page.loading.excerpts([1, 2, 3]);
  assert.deepEqual(
    page.askedFor('trace.excerpts').map(({ lines }) => [...lines!]),
    [[1, 2], [3]]
  );
  assert.deepEqual(page.state.excerpts.get(3), [['line 3', 'hit']]);
});

test('once a page has closed, its requests never settle, and it sends none', async () => {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const call = (method: string) => {
    asked.push(method);
    return new Promise(resolve => answers.push(() => resolve({ result: { source: '%trace log' }, buffers: [] })));
  };
  const requests = new LogRequests({ channel: () => ({ call }) } as unknown as ExplorerContext, () => undefined);
  const first = requests.ask('trace.cell', {});
  answers[0]!();
  assert.equal((await first).source, '%trace log');
  let settled = 0;
  void requests.ask('trace.cell', {}).finally(() => settled++);
  requests.close();
  answers[1]!();
  void requests.ask('trace.cell', {}).finally(() => settled++);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual([asked.length, settled], [2, 0]);
});
