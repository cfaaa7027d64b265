import type { TranslationBundle } from '@jupyterlab/translation';
import type { KeyPress } from '../approval/answer_keys.js';

/** The part of an explorer that has the focus. */
export type Zone = 'list' | 'search' | 'menu' | 'strip' | 'panel' | 'control';

export type Move = 'next' | 'previous' | 'pageDown' | 'pageUp' | 'first' | 'last';

/** An explorer's action; or `native`: only the browser's default action, `swallow`: nothing, `pass`: Jupyter's shortcuts. */
export type TraceKey =
  | Move
  | 'open'
  | 'close'
  | 'replay'
  | 'copy'
  | 'search'
  | 'nextHit'
  | 'previousHit'
  | 'nextFailure'
  | 'previousFailure'
  | 'clear'
  | 'fold'
  | 'unfold'
  | 'leave'
  | 'native'
  | 'swallow'
  | 'pass';

const MOVES: Readonly<Record<string, Move>> = {
  j: 'next',
  k: 'previous',
  ArrowDown: 'next',
  ArrowUp: 'previous',
  PageDown: 'pageDown',
  PageUp: 'pageUp',
  Home: 'first',
  End: 'last'
};
const IN_LIST: Readonly<Record<string, TraceKey>> = {
  ...MOVES,
  ArrowLeft: 'fold',
  ArrowRight: 'unfold',
  Enter: 'open',
  Escape: 'leave',
  ' ': 'swallow'
};
const IN_SEARCH: Readonly<Record<string, TraceKey>> = { Escape: 'clear', ArrowDown: 'close', Enter: 'close' };
const ANYWHERE: Readonly<Record<string, TraceKey>> = {
  j: 'next',
  k: 'previous',
  r: 'replay',
  c: 'copy',
  '/': 'search',
  n: 'nextHit',
  N: 'previousHit',
  e: 'nextFailure',
  E: 'previousFailure'
};
const NOT_REPEATED: readonly TraceKey[] = ['replay', 'copy', 'open'];

/** Returns what a key does in an explorer.  Unassigned letters are swallowed: in the notebook's command mode they would edit cells. */
export function traceKey({ key, repeat, modified }: KeyPress, zone: Zone): TraceKey {
  if (modified) {
    return 'pass';
  }
  const action = actionOf(key, zone);
  return repeat && NOT_REPEATED.includes(action) ? 'swallow' : action;
}

function actionOf(key: string, zone: Zone): TraceKey {
  switch (zone) {
    case 'search':
      return IN_SEARCH[key] ?? 'native';
    case 'menu':
      return key === 'Escape' ? 'close' : 'native';
    case 'list':
      return IN_LIST[key] ?? ANYWHERE[key] ?? unassigned(key);
    case 'strip':
      return ANYWHERE[key] ?? (key.length === 1 ? 'swallow' : 'native');
    default:
      return key === 'Escape' ? 'close' : (ANYWHERE[key] ?? unassigned(key));
  }
}

function unassigned(key: string): TraceKey {
  return key.length === 1 && key !== ' ' ? 'swallow' : 'native';
}

export function keyHint(trans: TranslationBundle): string {
  return trans.__('j k move · e next failure · ⏎ open · r run again · / search');
}
