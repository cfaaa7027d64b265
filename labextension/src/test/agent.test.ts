import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRunView } from '../agent/model.js';
import { tryParse } from '../shared/parse.js';

const HEAD = { type: 'head', run: 'run-1', model: 'test', state: 'executing', status: 'Writing' };

test('a run head from an older version has no figures and no Stop button', () => {
  const part = tryParse(parseRunView, { part: HEAD })?.part;
  assert.deepEqual(part, { ...HEAD, figures: [], can_stop: false });
});

test('an invalid run view is rejected without an exception', () => {
  for (const wrong of [
    null,
    {},
    { part: null },
    { part: { type: 'tail' } },
    { part: { ...HEAD, state: 'dreaming' } },
    { part: { type: 'said', block: 'text' } }
  ]) {
    assert.equal(tryParse(parseRunView, wrong), null);
  }
});
