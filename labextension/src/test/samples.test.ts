import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listedSamples, type SampleFilter, type SampleRow, sampleRows } from '../explorer/sample_rows.js';
import { encode } from './columns.js';

const ALL: SampleFilter = { only: '', text: '', sort: '', descending: false };
const [BLOCK, BUFFER] = encode(4, {
  id: ['text', ['10', '9', 'x', '']],
  input: ['text', ['2 + 2?', 'Capital of <b>France</b>', '', 'a']],
  target: ['text', ['4', 'Paris', '', '']],
  answer: ['text', ['5', 'Paris', '', '']],
  error: ['text', ['', '', 'out of memory', '']],
  outcome: ['word', ['incorrect', 'correct', 'error', '']],
  limit: ['word', ['', '', 'token', '']],
  epoch: ['f64', [1, 1, 1, NaN]],
  tokens: ['f64', [100, 9, NaN, 20]],
  scorer_tokens: ['f64', [NaN, NaN, NaN, NaN]],
  seconds: ['f64', [2, 10, NaN, 1]],
  line: ['f64', [0, 5, NaN, 9]],
  score0: ['text', ['I', 'C', '', '{"a":1}']],
  value0: ['f64', [0, 1, NaN, NaN]]
});
const ROWS = sampleRows({ total: 4, scorers: ['match'], block: BLOCK, buffers: [BUFFER] });

const listed = (change: Partial<SampleFilter>, rows: readonly SampleRow[] = ROWS) => listedSamples(rows, { ...ALL, ...change });

test('the samples have the values that the kernel sent', () => {
  const { id, input, outcome, tokens, scores, values, line } = ROWS[1]!;
  assert.deepEqual([id, input, outcome, tokens, scores, values, line], ['9', 'Capital of <b>France</b>', 'correct', 9, ['C'], [1], 5]);
  assert.deepEqual(sampleRows({ total: 4, scorers: [], block: BLOCK, buffers: [] }), []);
});

test('samples are sorted as numbers where a column has numbers, and unknown values come last', () => {
  assert.deepEqual(listed({}), [0, 1, 2, 3]);
  assert.deepEqual(listed({ sort: 'id' }), [1, 0, 2, 3]);
  assert.deepEqual(listed({ sort: 'tokens' }), [1, 3, 0, 2]);
  assert.deepEqual(listed({ sort: 'tokens', descending: true }), [0, 3, 1, 2]);
  assert.deepEqual(listed({ sort: 'score0' }), [0, 1, 3, 2]);
  assert.deepEqual(listed({ sort: 'score0', descending: true }), [1, 0, 3, 2]);
  assert.deepEqual(listed({ sort: 'target' }), [0, 1, 2, 3]);
});

test('samples are filtered by outcome and by words', () => {
  assert.deepEqual(listed({ only: 'incorrect' }), [0]);
  assert.deepEqual(listed({ only: 'errors' }), [2]);
  assert.deepEqual(listed({ text: 'FRANCE paris' }), [1]);
  assert.deepEqual(listed({ text: 'memory', only: 'incorrect' }), []);
});

test('ten thousand samples are sorted and filtered at once', () => {
  const many = Array.from({ length: 10_000 }, (_, number) => ({ ...ROWS[number % 4]!, number, tokens: (number * 7919) % 10_007 }));
  const start = performance.now();
  const keys = listed({ sort: 'tokens', text: 'a' }, many);
  assert.ok(keys.length > 1000 && performance.now() - start < 1000);
});
