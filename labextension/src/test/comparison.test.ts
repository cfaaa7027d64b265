import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StepRows } from '../comparison/step_rows.js';
import { encode } from './columns.js';

/** Steps of two runs: 1 for one that differs, and the runs that part at each. */
function reply(first: number, total: number, differs: readonly number[], parts: readonly string[] = differs.map(() => '')) {
  const [block, data] = encode(differs.length, {
    name: ['word', differs.map(() => 'shell')],
    subject: ['text', differs.map((_, i) => `ls ${first + i}`)],
    parts: ['word', parts],
    differs: ['u8', differs],
    others: ['list', differs.map(one => (one ? [0, 9] : []))],
    number0: ['text', differs.map((_, i) => String(first + i + 1))],
    mark0: ['u8', differs.map(() => 1)],
    number1: ['text', differs.map(one => (one ? '' : 'x'))],
    mark1: ['u8', differs.map(one => (one ? 0 : 3))]
  });
  const [others, otherData] = encode(1, { run: ['u8', [1]], text: ['text', ['ls -a']] });
  return { first, total, block, others, buffers: [data, otherData] };
}

test('steps that all runs have in common are folded from four on, until they are unfolded', () => {
  const steps = new StepRows(2);
  assert.ok(steps.add(reply(0, 12, [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0])));
  const { keys, folds } = steps.listed(new Set());
  assert.deepEqual(keys, [0, 4, 5, 6, 7, 8, 9, 10, 11]);
  assert.deepEqual([...folds], [[0, 4]]);
  const unfolded = steps.listed(new Set([0]));
  assert.deepEqual(unfolded.keys, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  assert.equal(unfolded.folds.size, 0);
});

test('steps come in stretches, which continue folds', () => {
  const steps = new StepRows(2);
  assert.ok(steps.add(reply(0, 7, [1, 0, 0], ['B', '', ''])));
  assert.deepEqual(steps.listed(new Set()).keys, [0, 1, 2]);
  assert.equal(steps.row(3), null);
  assert.ok(!steps.add(reply(5, 7, [0, 0])), 'steps are missing before them');
  assert.ok(steps.add(reply(3, 7, [0, 0, 0, 1], ['', '', '', 'A, B'])));
  assert.deepEqual([...steps.listed(new Set()).folds], [[1, 5]]);
  assert.deepEqual([steps.loaded, steps.total, steps.partings], [7, 7, [0, 6]]);
  assert.deepEqual(steps.row(6), {
    name: 'shell',
    subject: 'ls 6',
    ending: '',
    note: '',
    numbers: ['7', ''],
    marks: ['same', ''],
    others: [{ run: 1, text: 'ls -a' }],
    parts: 'A, B',
    differs: true
  });
  assert.deepEqual(steps.row(3)!.marks, ['same', 'failed']);
  assert.equal(steps.row(7), null);
});

test('damaged steps are refused', () => {
  const steps = new StepRows(2);
  const good = reply(0, 1, [1]);
  assert.ok(!steps.add({ ...good, buffers: [] }));
  assert.ok(!steps.add({ ...good, buffers: [good.buffers[0]!.slice(0, 8), good.buffers[1]!] }));
  assert.deepEqual([steps.loaded, steps.listed(new Set()).keys.length], [0, 0]);
});
