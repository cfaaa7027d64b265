import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunView } from '../agent/wire.js';
import { attempt } from '../parse.js';

const HEAD = { type: 'head', run: 'run-1', model: 'test', state: 'executing', status: 'Writing' };

test('a head of an older sender has no figures and no button', () => {
  const part = attempt(parseRunView, { part: HEAD })?.part;
  assert.deepEqual(part, { ...HEAD, figures: [], can_stop: false });
});

test('what is no part of a run is refused without an exception', () => {
  for (const wrong of [null, {}, { part: null }, { part: { type: 'tail' } }, { part: { ...HEAD, state: 'dreaming' } }, { part: { type: 'said', block: 'text' } }]) {
    assert.equal(attempt(parseRunView, wrong), null);
  }
});
