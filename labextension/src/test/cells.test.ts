import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunView } from '../agent/model.js';
import { parseTraceView } from '../explorer/model.js';

test('outputs of older versions provide no code to run', () => {
  const foot = {
    type: 'foot',
    state: 'success',
    status: 'Done',
    problem: '',
    ways: [{ label: 'open trace', cell: 'print(1)', run: true }]
  };
  assert.deepEqual(parseRunView({ part: foot }), {
    part: { type: 'foot', state: 'success', status: 'Done', figures: [], files: [], undo: null, problem: '', actions: [] }
  });
  const page = { type: 'page', first: 0, total: 0, calls: 0, lines: [] };
  const view = {
    explorer: 'x',
    title: '',
    facts: [],
    bars: [],
    kinds: [],
    tools: [],
    paths: [],
    page,
    compare: 'print(1)',
    notebook: 'print(2)',
    sql: 'print(3)'
  };
  assert.ok(!JSON.stringify(parseTraceView(view)).includes('print'));
  assert.deepEqual(parseTraceView(view).actions, []);
});
