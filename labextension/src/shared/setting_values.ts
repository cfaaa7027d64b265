import type { SettingValues } from './tokens.js';

/** The settings of a front end that has none, the same as the defaults in `schema/plugin.json`. */
export const DEFAULT_SETTINGS: SettingValues = {
  diffLayout: 'auto',
  previewLines: 16,
  wrapLines: false,
  notifications: true,
  notifyAfter: 5,
  followChanges: true
};

const LAYOUTS: readonly unknown[] = ['auto', 'split', 'unified'];

/** Returns settings with each invalid or missing value replaced by its default. */
export function settingValues(source: Readonly<Record<string, unknown>>): SettingValues {
  const { diffLayout, previewLines, notifyAfter } = source;
  const flag = (name: 'wrapLines' | 'notifications' | 'followChanges') =>
    typeof source[name] === 'boolean' ? source[name] : DEFAULT_SETTINGS[name];
  return {
    diffLayout: LAYOUTS.includes(diffLayout) ? (diffLayout as SettingValues['diffLayout']) : DEFAULT_SETTINGS.diffLayout,
    previewLines: isBetween(previewLines, 1, 200) ? Math.trunc(previewLines) : DEFAULT_SETTINGS.previewLines,
    wrapLines: flag('wrapLines'),
    notifications: flag('notifications'),
    notifyAfter: isBetween(notifyAfter, 0, 3600) ? notifyAfter : DEFAULT_SETTINGS.notifyAfter,
    followChanges: flag('followChanges')
  };
}

function isBetween(value: unknown, least: number, most: number): value is number {
  return typeof value === 'number' && value >= least && value <= most;
}
