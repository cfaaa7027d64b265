import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorOf, rowAfter, targetOf } from '../table/places.js';
import { placeRows, rowsInView, scrollTopFor } from '../table/virtual_scroll.js';

const ROW_HEIGHT = 28;
const VIEW_HEIGHT = 520;
const same = (key: number) => key;

test('every row of a list of any length can be scrolled to, and is drawn in view', () => {
  for (const count of [1, 18, 19, 1000, 100_000, 1_000_000, 5_000_000]) {
    let top = 0;
    for (const index of [0, Math.floor(count / 3), count - 1, Math.floor(count / 2)]) {
      top = scrollTopFor({ count, rowHeight: ROW_HEIGHT, viewHeight: VIEW_HEIGHT, top }, index);
      const scroll = { count, rowHeight: ROW_HEIGHT, viewHeight: VIEW_HEIGHT, top };
      const { height, first, last, shift } = placeRows(scroll);
      const [firstInView, end] = rowsInView({ ...scroll, top: top + 0.001 });
      const y = index * ROW_HEIGHT + shift - top;
      assert.ok(first <= index && index < last, `${index} of ${count} is drawn`);
      assert.ok(y > -0.01 && y + ROW_HEIGHT < Math.max(VIEW_HEIGHT, ROW_HEIGHT) + 0.01, `${index} of ${count} is at ${y}`);
      assert.ok(firstInView - 1 <= index && index <= end, `${index} of ${count} is between ${firstInView} and ${end}`);
      assert.ok(top >= 0 && top <= Math.max(height - VIEW_HEIGHT, 0) + 0.01, `${top} can be scrolled to`);
      assert.ok(height <= 15_000_000 && last - first < 40);
    }
  }
});

test('a row that is already in view does not move the list', () => {
  const scroll = { count: 1000, rowHeight: ROW_HEIGHT, viewHeight: VIEW_HEIGHT, top: 2800 };
  assert.equal(scrollTopFor(scroll, 105, 2), 2800);
  assert.equal(scrollTopFor(scroll, 100, 2), 98 * ROW_HEIGHT);
  assert.equal(scrollTopFor(scroll, 99), 99 * ROW_HEIGHT);
});

test('the rows in view are those that are fully visible', () => {
  const scroll = { count: 1000, rowHeight: ROW_HEIGHT, viewHeight: VIEW_HEIGHT, top: 0 };
  assert.deepEqual(rowsInView(scroll), [0, 18]);
  assert.deepEqual(rowsInView({ ...scroll, top: 1 }), [1, 18]);
  assert.deepEqual(rowsInView({ ...scroll, count: 3 }), [0, 3]);
  assert.deepEqual(rowsInView({ ...scroll, count: 0 }), [0, 0]);
  assert.deepEqual(rowsInView({ ...scroll, viewHeight: 0, top: 100 }), [4, 4]);
});

test('moves stay in the list', () => {
  assert.deepEqual(
    (['next', 'previous', 'pageDown', 'pageUp', 'first', 'last'] as const).map(move => targetOf(move, 50, 18, 100)),
    [51, 49, 67, 33, 0, 99]
  );
  assert.deepEqual(
    (['next', 'previous', 'pageDown', 'pageUp', 'first', 'last'] as const).map(move => targetOf(move, null, 18, 100)),
    [0, 0, 17, 0, 0, 99]
  );
  assert.equal(targetOf('next', 99, 18, 100), 99);
  assert.equal(targetOf('pageDown', 3, 0, 5), 4);
  assert.equal(targetOf('last', null, 18, 0), -1);
});

test('the row that stays in place is the active one if it is in view', () => {
  assert.equal(anchorOf(12, [10, 20]), 12);
  assert.equal(anchorOf(20, [10, 20]), 10);
  assert.equal(anchorOf(null, [10, 20]), 10);
});

test('a row is found by its key in the list that replaces its own', () => {
  const before = Uint32Array.of(10, 20, 30);
  assert.equal(rowAfter(before, 1, Uint32Array.of(5, 10, 15, 20), same), 3);
  assert.equal(rowAfter(before, 1, [30, 10], same), null);
  assert.equal(rowAfter(before, null, [30, 10], same), null);
  assert.equal(rowAfter(before, 3, [30, 10], same), null);
  assert.equal(
    rowAfter(before, 2, [30, 31], key => key + 1),
    1
  );
  assert.equal(
    rowAfter(before, 2, [30, 31], () => null),
    null
  );
});
