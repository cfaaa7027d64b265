import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contrast, readable } from '../cards/contrast.js';
import { formAction, keyAction } from '../approval/answer_keys.js';
import { parseOpenedAddress } from '../explorer/opened_address.js';
import { tryParse } from '../shared/parse.js';
import { locate, shortName } from '../shared/path.js';
import { unify } from '../cards/diff_rows.js';
import { parseCard, type Row } from '../cards/model.js';

const MINIMAL_CARD = { id: '1', state: 'success', tool: 'ls', icon: 'folder', subject: '.', status: 'Done' };

test('a card from an older version gets the defaults; unknown fields of a newer one are dropped', () => {
  const card = tryParse(parseCard, { ...MINIMAL_CARD, places: [{ path: 'a.py' }], hologram: true });
  assert.deepEqual(card?.places, [{ path: 'a.py', line: null }]);
  assert.equal(card?.root, '.');
  assert.equal(Object.hasOwn(card ?? {}, 'hologram'), false);
});

test('an invalid card is rejected without an exception', () => {
  for (const wrong of [
    null,
    3,
    'text',
    [],
    {},
    { ...MINIMAL_CARD, id: 1 },
    { ...MINIMAL_CARD, state: 'dreaming' },
    { ...MINIMAL_CARD, blocks: [{ type: 'constructor' }] }
  ]) {
    assert.equal(tryParse(parseCard, wrong), null);
  }
});

test('a workspace path is converted to a server path', () => {
  assert.equal(locate('notebooks', '..', 'src/a.py'), 'src/a.py');
  assert.equal(locate('', '.', './a b/ä.py'), 'a b/ä.py');
  assert.equal(locate('', '..', 'a.py'), null);
  assert.equal(locate('notebooks', '..', '../a.py'), null);
  assert.equal(locate('notebooks', '..', '/etc/hosts'), null);
  assert.equal(locate('notebooks', '/tmp/elsewhere', 'a.py'), null);
  assert.equal(shortName('src/a.py', 3), 'a.py:3');
});

test('an address names a log or a listed session, and a step of limited length', () => {
  const parse = (query: string) => parseOpenedAddress(`http://localhost/lab?token=t${query}`);
  assert.equal(parse(''), null);
  assert.equal(parse('&agent-log='), null);
  assert.equal(parse('&agent-step=4'), null);
  const opened = parse('&agent-log=a%20%26%20b.jsonl&agent-step=3');
  assert.deepEqual([opened?.log, opened?.step, opened?.rest.href], ['a & b.jsonl', '3', 'http://localhost/lab?token=t']);
  assert.equal(parse('&agent-log=session%3A0000000000000a')?.log, 'session:0000000000000a');
  for (const other of ['session:', 'session:../a.jsonl', 'session:/etc/passwd', 'session:0000000000000A', 'session:0000000000000a/..']) {
    assert.equal(parse(`&agent-log=${other}`)?.log, `./${other}`);
  }
  assert.equal(parse(`&agent-log=${'x'.repeat(6000)}`)?.log.length, 4000);
  assert.equal(parse(`&agent-log=a.jsonl&agent-step=${'9'.repeat(6000)}`)?.step.length, 50);
});

test('a run of changes shows removed lines before added lines', () => {
  const line = (number: number, text: string) => ({ number, spans: [[text, '']] as const });
  const rows: Row[] = [
    { old: line(1, 'a'), new: line(1, 'a'), changed: false },
    { old: line(2, 'b'), new: line(2, 'B'), changed: true },
    { old: null, new: line(3, 'C'), changed: true },
    { old: line(3, 'd'), new: line(4, 'D'), changed: true }
  ];
  const drawn = unify(rows).map(({ sign, spans }) => sign + spans[0]![0]);
  assert.deepEqual(drawn, [' a', '−b', '−d', '+B', '+C', '+D']);
});

test('every color becomes readable on the light and the dark background', () => {
  for (const background of ['#ffffff', '#1b1b1b'] as const) {
    for (const hex of ['#000000', '#ffffff', '#ffee88', '#2b2b5f', '#808080']) {
      const value = parseInt(readable(hex, background).slice(1), 16);
      const backgroundValue = parseInt(background.slice(1), 16);
      const rgb = (n: number) => [n >> 16, (n >> 8) & 255, n & 255] as const;
      assert.ok(contrast(rgb(value), rgb(backgroundValue)) >= 4.5, `${hex} on ${background}`);
    }
  }
  assert.equal(readable('#000000', '#ffffff'), '#000000');
});

test('keys answer a question only when they were meant for it', () => {
  const key = (name: string, repeat = false, modified = false) => ({ key: name, repeat, modified });
  assert.deepEqual(keyAction(key('y'), false), { press: 'once' });
  assert.deepEqual(keyAction(key('Y'), false), { press: 'once' });
  assert.deepEqual(keyAction(key('Escape'), false), { press: 'deny' });
  assert.equal(keyAction(key('y'), true), 'swallow');
  assert.equal(keyAction(key('y', true), false), 'swallow');
  assert.equal(keyAction(key('Enter'), true), 'swallow');
  assert.equal(keyAction(key('Enter'), false), 'native');
  assert.equal(keyAction(key('x'), false), 'swallow');
  assert.equal(keyAction(key('s', false, true), false), 'pass');
  assert.equal(keyAction(key('Tab'), true), 'pass');
});

test('keys in a form edit, send or skip it, and never reach the notebook', () => {
  const key = (name: string, more = {}) => ({ key: name, repeat: false, modified: false, ...more });
  assert.equal(formAction(key('Enter'), 'choice', false, false), 'send');
  assert.equal(formAction(key('Enter'), 'text', true, false), 'send');
  assert.equal(formAction(key('Enter', { modified: true }), 'text', true, false), 'pass');
  assert.equal(formAction(key('Enter'), 'button', false, false), 'native');
  assert.equal(formAction(key('Escape'), 'text', true, false), 'leave');
  assert.equal(formAction(key('Escape'), 'text', false, false), 'skip');
  assert.equal(formAction(key('Escape'), 'choice', true, false), 'skip');
  assert.equal(formAction(key('ArrowDown'), 'choice', false, false), 'native');
  assert.equal(formAction(key(' '), 'choice', false, false), 'native');
  assert.equal(formAction(key('d'), 'choice', false, false), 'swallow');
  assert.equal(formAction(key('d'), 'text', false, false), 'pass');
  assert.equal(formAction(key('Tab'), 'choice', false, false), 'pass');
  assert.equal(formAction(key('Escape'), 'choice', false, true), 'swallow');
  assert.equal(formAction(key('Enter'), 'text', true, true), 'send');
  assert.equal(formAction(key('Enter', { repeat: true }), 'text', true, false), 'swallow');
});
