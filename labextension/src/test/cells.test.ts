import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunView } from '../agent/model.js';
import { isPlainLine, traceCell } from '../explorer/open_with.js';
import { parseTraceView } from '../explorer/model.js';

/** Characters that IPython treats as line ends. */
const SEPARATORS = '\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029';

test('a file name with a line separator cannot add code to the cell', () => {
  for (const separator of SEPARATORS) {
    const name = `session${separator}open('pwned','w')#.jsonl`;
    assert.equal(isPlainLine(name), false);
    const code = separator.codePointAt(0)!.toString(16).padStart(8, '0');
    assert.equal(
      traceCell(name),
      `get_ipython().run_line_magic('trace', '"session\\U${code}open(\\U00000027pwned\\U00000027,\\U00000027w\\U00000027)#.jsonl"')`
    );
  }
});

test('invisible characters and lone surrogates are escaped, visible characters are not', () => {
  for (const hidden of ['\0', '\x1b', '\u200b', '\u202e', '\u00a0', '\ud800', '\u{e0001}']) {
    assert.ok(isPlainLine(traceCell(hidden)), hidden);
    assert.ok(traceCell(hidden).startsWith('get_ipython()'));
  }
  for (const name of ['a b.jsonl', 'ä\u0308 日本 🦉.jsonl', 'x'.repeat(300)]) {
    assert.equal(traceCell(name), `%trace "${name}"`);
  }
});

test('quotes and backslashes in a file name are escaped for the magic', () => {
  assert.equal(traceCell("it's.jsonl"), '%trace "it\'s.jsonl"');
  assert.equal(traceCell('a"b.jsonl'), "%trace 'a\"b.jsonl'");
  assert.equal(traceCell('a"b\'c\\d.jsonl'), '%trace "a\\"b\'c\\\\d.jsonl"');
});

test('outputs of older versions provide no code to run', () => {
  const foot = {
    type: 'foot',
    state: 'success',
    status: 'Done',
    problem: '',
    ways: [{ label: 'open trace', cell: 'print(1)', run: true }]
  };
  assert.deepEqual(parseRunView({ part: foot }), {
    part: { type: 'foot', state: 'success', status: 'Done', figures: [], problem: '', actions: [] }
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
