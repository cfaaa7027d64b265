import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListedLines, barAtOffset, lineAt, rangeBetween, barRects, barsWidth } from '../explorer/timeline_bars.js';
import { LineMoves } from '../explorer/line_moves.js';
import { NO_FILTER, chooseChip, isFiltering, listsEverything, toggleChip, toggleFold } from '../explorer/filter.js';
import { AXIS, barAfter, barAtPoint, barOfLine, linesBetween } from '../explorer/usage_strip_bars.js';
import { traceKey, type Zone } from '../explorer/keymap.js';
import type { StripBar, TraceBar } from '../explorer/model.js';

function bars(...ends: number[]): TraceBar[] {
  return ends.map((end, i) => ({ first: i ? ends[i - 1]! : 0, last: end - 1, height: 50, tone: 'quiet', failed: 0 }));
}

test('bars fill the timeline without gaps, and a position maps to its line', () => {
  const drawn = barRects(bars(10, 20, 40, 41), 410, 100, 1);
  assert.deepEqual(
    drawn.map(({ x, width, height }) => [x, width, height]),
    [
      [0, 99, 50],
      [100, 99, 50],
      [200, 199, 50],
      [400, 9, 50]
    ]
  );
  assert.deepEqual([lineAt(-5, 410, 41), lineAt(0, 410, 41), lineAt(105, 410, 41), lineAt(999, 410, 41)], [0, 0, 10, 40]);
  assert.deepEqual(
    barRects(bars(1, 2, 3), 2, 100, 1).map(({ width }) => width),
    [1, 1, 1]
  );
  assert.equal(barsWidth(bars(1, 2), 1000), 56);
});

test('a range consists of whole bars, whatever the direction of dragging', () => {
  const some = bars(10, 20, 40);
  assert.deepEqual(rangeBetween(some, 110, 250, 400), { first: 10, last: 39 });
  assert.deepEqual(rangeBetween(some, 250, -30, 400), { first: 0, last: 39 });
  assert.deepEqual(rangeBetween(some, 120, 130, 400), { first: 10, last: 19 });
  assert.deepEqual(
    [barAtOffset(some, 15, 1)?.first, barAtOffset(some, 15, -9)?.first, barAtOffset(some, 15, Infinity)?.first],
    [20, 0, 20]
  );
  assert.equal(barAtOffset(some, -1, 1)?.first, 0); // no line is selected
  assert.equal(barAtOffset([], 0, 1), undefined);
});

test('the function of a key depends on the zone, and only keys with a modifier reach the notebook', () => {
  const key = (name: string, zone: Zone, repeat = false, modified = false) => traceKey({ key: name, repeat, modified }, zone);
  assert.deepEqual(
    ['j', 'ArrowUp', 'End', 'Enter', 'r', '/', 'Escape', 'ArrowLeft'].map(name => key(name, 'list')),
    ['next', 'previous', 'last', 'open', 'replay', 'search', 'leave', 'fold']
  );
  assert.deepEqual(
    ['j', 'r', '/', 'Home', 'ArrowLeft'].map(name => key(name, 'search')),
    Array(5).fill('native')
  );
  assert.deepEqual(
    [key('Escape', 'search'), key('ArrowDown', 'search'), key('Escape', 'panel'), key('ArrowDown', 'panel'), key(' ', 'control')],
    ['clear', 'close', 'close', 'native', 'native']
  );
  assert.deepEqual(
    [key('Enter', 'note'), key('Escape', 'note'), key('p', 'note'), key('p', 'field')],
    ['saveNote', 'endNote', 'native', 'native']
  );
  for (const zone of ['list', 'panel', 'strip', 'control'] as const) {
    assert.deepEqual([key('n', zone), key('N', zone), key('n', 'search')], ['nextHitOrNote', 'previousHit', 'native']);
    assert.equal(key('x', zone), 'swallow');
    assert.deepEqual([key('d', zone), key('F', zone), key('1', zone), key('0', zone)], ['verdict d', 'verdict F', 'label 1', 'swallow']);
    assert.deepEqual([key('d', zone, true), key('J', zone, true)], ['swallow', 'extendNext']);
    assert.deepEqual([key('e', zone), key('E', zone), key('e', 'search')], ['nextFailure', 'previousFailure', 'native']);
    assert.equal(key('Tab', zone), 'native');
    assert.equal(key('r', zone, true), 'swallow');
    assert.equal(key('j', zone, true), 'next');
    assert.equal(key('s', zone, false, true), 'pass');
  }
});

test('folding is not filtering; toggleFold folds and unfolds', () => {
  const folded = toggleFold(toggleFold(NO_FILTER, 7), 9);
  assert.deepEqual(folded.folded, [7, 9]);
  assert.deepEqual(toggleFold(folded, 7).folded, [9]);
  assert.deepEqual(
    [isFiltering(folded), listsEverything(folded), isFiltering({ ...NO_FILTER, first: 0 }), listsEverything(NO_FILTER)],
    [false, false, true, true]
  );
});

test('chips combine; a menu has one choice at a time', () => {
  const chips = toggleChip(toggleChip([], 'end:failed'), 'kind:shell');
  assert.deepEqual(chips, ['end:failed', 'kind:shell']);
  assert.deepEqual(toggleChip(chips, 'end:failed'), ['kind:shell']);
  const file = chooseChip(chooseChip(chips, 'path', 'path:a.py'), 'path', 'path:b.py');
  assert.deepEqual(file, ['end:failed', 'kind:shell', 'path:b.py']);
  assert.deepEqual(chooseChip(file, 'path', ''), chips);
});

function stripBar(first: number, last: number, start: number, end: number, lane = 0, mark: StripBar['mark'] = ''): StripBar {
  return { first, last, start, end, lane, parts: [], failed: 0, tone: 'done', mark, label: '' };
}

test('a point of the overview of time is the nearest bar of its lane, never a wait', () => {
  const strip = [
    stripBar(0, 9, 0, 5000),
    stripBar(2, 2, 1000, 1200, 1),
    stripBar(7, 7, 4000, 4100, 1),
    stripBar(0, 0, 5000, 6000, 0, 'waiting')
  ];
  assert.equal(barAtPoint(strip, 1100, 1)?.first, 2);
  assert.equal(barAtPoint(strip, 3900, 1)?.first, 7);
  assert.equal(barAtPoint(strip, 3900, 0)?.last, 9);
  assert.equal(barAtPoint(strip, 5500, 0)?.last, 9);
  assert.equal(barAtPoint([], 5500, 0), undefined);
});

test('a line is the smallest bar around it, else the bar before it', () => {
  const strip = [stripBar(0, 9, 0, 5000), stripBar(2, 2, 1000, 1200, 1), stripBar(20, 20, 6000, AXIS)];
  assert.equal(barOfLine(strip, 2)?.lane, 1);
  assert.equal(barOfLine(strip, 5)?.last, 9);
  assert.equal(barOfLine(strip, 15)?.first, 2);
  assert.equal(barOfLine(strip, -1), undefined);
  assert.equal(barAfter(strip, 2, 1)?.first, 20);
  assert.equal(barAfter(strip, 2, -Infinity)?.first, 0);
  assert.equal(barAfter(strip, 2, Infinity)?.first, 20);
  assert.deepEqual(linesBetween(strip, 1100, 900), { first: 0, last: 9 });
  assert.equal(linesBetween(strip, 5200, 5300), null);
});

test('lines, ranges and folds move with the lines of a log that has grown', () => {
  const moves = new LineMoves(
    [
      { first: 0, to: 0, count: 3 },
      { first: 4, to: 6, count: 4 }
    ],
    12
  );
  assert.equal(moves.isIdentity, false);
  assert.deepEqual(
    [0, 2, 4, 7].map(line => moves.of(line)),
    [0, 2, 6, 9]
  );
  assert.deepEqual([moves.of(3), moves.find(3), moves.find(8)], [2, null, null]);
  assert.deepEqual(moves.newLines(), [3, 4, 5, 10, 11]);
  const filter = { ...NO_FILTER, first: 4, last: 7, folded: [5] };
  assert.deepEqual(moves.ofFilter(filter), { ...filter, first: 6, last: 9, folded: [7] });
  const grown = new LineMoves([{ first: 0, to: 0, count: 8 }], 12);
  assert.ok(grown.isIdentity && grown.ofFilter(filter) !== filter);
  const unknown = new LineMoves([], 12, true);
  assert.deepEqual([unknown.isIdentity, unknown.of(5), unknown.find(5), unknown.newLines()], [false, 5, null, []]);
});

test('a bar has the tone of those of its lines that a filter lists', () => {
  const tones = ['done', 'failed', 'changed', 'done', 'failed', ...Array.from({ length: 15 }, () => 'done')];
  const toneAt = (line: number) => tones[line]!;
  const failed = new ListedLines([1, 4], tones.length, toneAt);
  const bar = { first: 0, last: 4 };
  assert.deepEqual([failed.count(bar), failed.tone(bar)], [2, 'failed']);
  assert.deepEqual([failed.count({ first: 5, last: 19 }), failed.tone({ first: 5, last: 19 })], [0, 'done']);
  const all = new ListedLines(
    tones.map((_, line) => line),
    tones.length,
    toneAt
  );
  assert.deepEqual(
    [all.count({ first: 1, last: 99 }), all.tone({ first: 4, last: 19 }), all.tone({ first: 2, last: 3 })],
    [19, 'done', 'changed']
  );
  const sorted = new ListedLines([4, 0], tones.length, toneAt);
  assert.deepEqual([sorted.count(bar), sorted.count({ first: 1, last: 3 })], [2, 0]);
});
