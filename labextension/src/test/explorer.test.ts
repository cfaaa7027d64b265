import assert from 'node:assert/strict';
import { test } from 'node:test';
import { barBeside, lineAt, rangeBetween, rects, widthOf } from '../trace/bars.js';
import { EVERYTHING, fold, leavesOut, listsAll } from '../trace/filter.js';
import { traceKey, type Zone } from '../trace/keymap.js';
import { PAGE, Pages, pagesAround } from '../trace/pages.js';
import { place, reveal } from '../trace/placement.js';
import type { TraceBar, TraceLine, TracePage } from '../trace/wire.js';

const ROW = 28;
const VIEW = 520;

function pageOf(first: number, count: number, total: number): TracePage {
  const lines = Array.from({ length: Math.max(Math.min(count, total - first), 0) }, (_, i) => ({ line: first + i }) as TraceLine);
  return { type: 'page', first, total, calls: total, lines, indexed: 100 };
}

/** A kernel that answers when it is told to. */
class Slow {
  readonly asked: number[] = [];
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly total: number) {}

  readonly fetch = (first: number, count: number): Promise<TracePage> => {
    this.asked.push(first / PAGE);
    return new Promise(resolve => this.waiting.push(() => resolve(pageOf(first, count, this.total))));
  };

  /** Answers the oldest question, and lets what follows from it happen. */
  async answer(): Promise<void> {
    this.waiting.shift()?.();
    await new Promise(resolve => setImmediate(resolve));
  }
}

function bars(...ends: number[]): TraceBar[] {
  return ends.map((end, i) => ({ first: i ? ends[i - 1]! : 0, last: end - 1, height: 50, tone: 'quiet' }));
}

test('every row of a list of any length can be scrolled to, and is drawn where it is seen', () => {
  for (const count of [1, 18, 19, 1000, 100_000, 1_000_000, 5_000_000]) {
    let top = 0;
    for (const index of [0, Math.floor(count / 3), count - 1, Math.floor(count / 2)]) {
      top = reveal({ count, row: ROW, view: VIEW, top }, index);
      const { height, first, last, shift } = place({ count, row: ROW, view: VIEW, top });
      const y = index * ROW + shift - top;
      assert.ok(first <= index && index < last, `${index} of ${count} is drawn`);
      assert.ok(y > -0.01 && y + ROW < Math.max(VIEW, ROW) + 0.01, `${index} of ${count} stands at ${y}`);
      assert.ok(top >= 0 && top <= Math.max(height - VIEW, 0) + 0.01, `${top} can be scrolled to`);
      assert.ok(height <= 15_000_000 && last - first < 40);
    }
  }
});

test('a row that is in view already does not move the list', () => {
  const scroll = { count: 1000, row: ROW, view: VIEW, top: 2800 };
  assert.equal(reveal(scroll, 105, 2), 2800);
  assert.equal(reveal(scroll, 100, 2), 98 * ROW);
  assert.equal(reveal(scroll, 99), 99 * ROW);
});

test('what is in view is asked for before what is near it', () => {
  assert.deepEqual(pagesAround(390, 410, 10_000), [1, 2]);
  assert.deepEqual(pagesAround(210, 230, 10_000), [1, 0]);
  assert.deepEqual(pagesAround(0, 18, 10), [0]);
  assert.deepEqual(pagesAround(9990, 10_020, 10_000), [49]);
});

test('no more than two pages are on their way, and those scrolled past are not asked for', async () => {
  const kernel = new Slow(100_000);
  let changes = 0;
  const pages = new Pages(pageOf(0, PAGE, 100_000), kernel.fetch, () => changes++);
  for (let first = 1000; first <= 90_000; first += 1000) {
    pages.want(first, first + 20);
  }
  assert.equal(kernel.asked.length, 2);
  await kernel.answer();
  assert.equal(changes, 1);
  await kernel.answer();
  assert.deepEqual(kernel.asked.slice(2), [450, 449]);
  await kernel.answer();
  assert.equal(pages.line(90_001)?.line, 90_001);
  assert.equal(pages.line(50_000), null);
});

test('a line that is waited for comes with its page; what is not there is null', async () => {
  const kernel = new Slow(1000);
  const pages = new Pages(pageOf(0, PAGE, 1000), kernel.fetch, () => undefined);
  assert.equal((await pages.get(5))?.line, 5);
  const [one, other] = [pages.get(700), pages.get(701)];
  await kernel.answer();
  assert.deepEqual([(await one)?.line, (await other)?.line, kernel.asked], [700, 701, [3]]);
  assert.equal(await pages.get(1000), null);
  assert.equal(await pages.get(-1), null);
});

test('a first page that is cut short is completed, a closed list hears nothing more', async () => {
  const kernel = new Slow(1000);
  let changes = 0;
  const pages = new Pages(pageOf(0, 60, 1000), kernel.fetch, () => changes++);
  assert.equal(pages.line(100), null);
  pages.want(0, 18);
  await kernel.answer();
  assert.equal(pages.line(100)?.line, 100);
  pages.want(600, 620);
  pages.close();
  await kernel.answer();
  assert.equal(changes, 1);
});

test('only so many pages are kept, those near the view', async () => {
  const pages = new Pages(pageOf(0, PAGE, 100_000), (first, count) => Promise.resolve(pageOf(first, count, 100_000)), () => undefined);
  for (let first = 0; first < 20_000; first += PAGE) {
    pages.want(first, first + 10);
    await pages.get(first);
  }
  assert.equal(pages.line(0), null);
  assert.equal(pages.line(19_900)?.line, 19_900);
});

test('bars fill the strip without holes, and a point leads to the line under it', () => {
  const drawn = rects(bars(10, 20, 40, 41), 410, 100, 1);
  assert.deepEqual(drawn.map(({ x, width, height }) => [x, width, height]), [[0, 99, 50], [100, 99, 50], [200, 199, 50], [400, 9, 50]]);
  assert.deepEqual([lineAt(-5, 410, 41), lineAt(0, 410, 41), lineAt(105, 410, 41), lineAt(999, 410, 41)], [0, 0, 10, 40]);
  assert.deepEqual(rects(bars(1, 2, 3), 2, 100, 1).map(({ width }) => width), [1, 1, 1]);
  assert.equal(widthOf(bars(1, 2), 1000), 56);
});

test('a range is whole bars, whichever way it is drawn', () => {
  const some = bars(10, 20, 40);
  assert.deepEqual(rangeBetween(some, 110, 250, 400), { first: 10, last: 39 });
  assert.deepEqual(rangeBetween(some, 250, -30, 400), { first: 0, last: 39 });
  assert.deepEqual(rangeBetween(some, 120, 130, 400), { first: 10, last: 19 });
  assert.deepEqual([barBeside(some, 15, 1)?.first, barBeside(some, 15, -9)?.first, barBeside(some, 15, Infinity)?.first], [20, 0, 20]);
  assert.equal(barBeside([], 0, 1), undefined);
});

test('keys mean what the place says, and none reaches the notebook but those with a modifier', () => {
  const key = (name: string, zone: Zone, repeat = false, modified = false) => traceKey({ key: name, repeat, modified }, zone);
  assert.deepEqual(['j', 'ArrowUp', 'End', 'Enter', 'r', '/', 'Escape', 'ArrowLeft'].map(name => key(name, 'list')), ['next', 'previous', 'last', 'open', 'again', 'search', 'leave', 'fold']);
  assert.deepEqual(['j', 'r', '/', 'Home', 'ArrowLeft'].map(name => key(name, 'search')), Array(5).fill('native'));
  assert.deepEqual([key('Escape', 'search'), key('ArrowDown', 'search'), key('Escape', 'panel'), key('ArrowDown', 'panel'), key(' ', 'control')], ['clear', 'close', 'close', 'native', 'native']);
  for (const zone of ['list', 'panel', 'strip', 'control'] as const) {
    assert.equal(key('d', zone), 'swallow');
    assert.equal(key('Tab', zone), 'native');
    assert.equal(key('r', zone, true), 'swallow');
    assert.equal(key('j', zone, true), 'next');
    assert.equal(key('s', zone, false, true), 'pass');
  }
});

test('what is folded is no filter, and folds and unfolds', () => {
  const folded = fold(fold(EVERYTHING, 7), 9);
  assert.deepEqual(folded.folded, [7, 9]);
  assert.deepEqual(fold(folded, 7).folded, [9]);
  assert.deepEqual([leavesOut(folded), listsAll(folded), leavesOut({ ...EVERYTHING, first: 0 }), listsAll(EVERYTHING)], [false, false, true, true]);
});
