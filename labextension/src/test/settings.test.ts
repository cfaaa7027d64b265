import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DEFAULT_SETTINGS, settingValues } from '../shared/setting_values.js';

interface Property {
  readonly title: string;
  readonly description: string;
  readonly default: unknown;
}
const SCHEMA = JSON.parse(readFileSync(new URL('../../schema/plugin.json', import.meta.url), 'utf8')) as {
  properties: Record<string, Property>;
  additionalProperties: boolean;
};

test('the schema and the front end have the same settings and defaults; each has a title and a description', () => {
  assert.deepEqual(
    Object.fromEntries(Object.entries(SCHEMA.properties).map(([name, { default: value }]) => [name, value])),
    DEFAULT_SETTINGS
  );
  for (const { title, description } of Object.values(SCHEMA.properties)) {
    assert.ok(title && description);
  }
});

test('no setting can loosen the policy: the schema is closed and names only how things are shown', () => {
  assert.equal(SCHEMA.additionalProperties, false);
  assert.deepEqual(Object.keys(settingValues({ mode: 'yolo', rules: ['allow *'], ...DEFAULT_SETTINGS })).sort(), [
    'diffLayout',
    'followChanges',
    'notifications',
    'notifyAfter',
    'previewLines',
    'wrapLines'
  ]);
});

test('invalid values become defaults', () => {
  assert.deepEqual(
    settingValues({ diffLayout: '<b>', previewLines: -1, notifications: 'no', notifyAfter: NaN, followChanges: null }),
    DEFAULT_SETTINGS
  );
  assert.deepEqual(settingValues({ diffLayout: 'split', previewLines: 20.7, notifyAfter: 0 }), {
    ...DEFAULT_SETTINGS,
    diffLayout: 'split',
    previewLines: 20,
    notifyAfter: 0
  });
});
