import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunView } from '../agent/wire.js';
import { isPlainLine, traceCell } from '../trace/launch.js';
import { parseTraceView } from '../trace/wire.js';

/** Where IPython ends a line. */
const SEPARATORS = '\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029';

test('a name with a separator of lines stays an argument of its cell', () => {
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

test('what cannot be seen, or is half a character, is escaped; what can be seen is not', () => {
  for (const hidden of ['\0', '\x1b', '\u200b', '\u202e', '\u00a0', '\ud800', '\u{e0001}']) {
    assert.ok(isPlainLine(traceCell(hidden)), hidden);
    assert.ok(traceCell(hidden).startsWith('get_ipython()'));
  }
  for (const name of ['a b.jsonl', 'ä\u0308 日本 🦉.jsonl', 'x'.repeat(300)]) {
    assert.equal(traceCell(name), `%trace "${name}"`);
  }
});

test('quotes and backslashes of a name are read again by the magic', () => {
  assert.equal(traceCell('it\'s.jsonl'), '%trace "it\'s.jsonl"');
  assert.equal(traceCell('a"b.jsonl'), '%trace \'a"b.jsonl\'');
  assert.equal(traceCell('a"b\'c\\d.jsonl'), '%trace "a\\"b\'c\\\\d.jsonl"');
});

test('bundles of an older version give no code to run', () => {
  const foot = { type: 'foot', state: 'success', status: 'Done', problem: '', ways: [{ label: 'open trace', cell: 'print(1)', run: true }] };
  assert.deepEqual(parseRunView({ part: foot }), { part: { type: 'foot', state: 'success', status: 'Done', figures: [], problem: '', actions: [] } });
  const page = { type: 'page', first: 0, total: 0, calls: 0, lines: [] };
  const view = { explorer: 'x', title: '', facts: [], bars: [], kinds: [], tools: [], paths: [], page, compare: 'print(1)', notebook: 'print(2)', sql: 'print(3)' };
  assert.ok(!JSON.stringify(parseTraceView(view)).includes('print'));
  assert.deepEqual(parseTraceView(view).actions, []);
});
