import type { TranslationBundle } from '@jupyterlab/translation';
import type { KeyPress } from '../approval/answer_keys.js';
import { MOVES, type Move } from '../table/places.js';

/** The part of an explorer that has the focus. */
export type Zone = 'list' | 'search' | 'note' | 'field' | 'menu' | 'strip' | 'panel' | 'control';

/** A verdict on the selected steps or, in upper case, on the session; a digit applies the label with this key. */
export type ReviewKey = `verdict ${'p' | 'f' | 'd' | 'P' | 'F' | 'D'}` | `label ${number}`;

/** An explorer's action; or `native`: only the browser's default action, `swallow`: nothing, `pass`: Jupyter's shortcuts. */
export type TraceKey =
  | Move
  | 'open'
  | 'close'
  | 'replay'
  | 'copy'
  | 'search'
  | 'nextHitOrNote'
  | 'previousHit'
  | 'nextFailure'
  | 'previousFailure'
  | 'extendNext'
  | 'extendPrevious'
  | 'saveNote'
  | 'endNote'
  | 'nextUnreviewed'
  | 'undoReview'
  | ReviewKey
  | 'clear'
  | 'fold'
  | 'unfold'
  | 'leave'
  | 'native'
  | 'swallow'
  | 'pass';

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
  e: 'nextFailure',
  E: 'previousFailure',
  n: 'nextHitOrNote',
  N: 'previousHit',
  J: 'extendNext',
  K: 'extendPrevious',
  u: 'nextUnreviewed',
  z: 'undoReview',
  ...Object.fromEntries(['p', 'f', 'd', 'P', 'F', 'D'].map(key => [key, `verdict ${key}` as ReviewKey])),
  ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8, 9].map(key => [String(key), `label ${key}` as ReviewKey]))
};
const IN_NOTE: Readonly<Record<string, TraceKey>> = { Enter: 'saveNote', Escape: 'endNote' };
const NOT_REPEATED: readonly TraceKey[] = ['replay', 'copy', 'open', 'undoReview', 'nextUnreviewed'];

/** Returns what a key does in an explorer.  Unassigned letters are swallowed: in the notebook's command mode they would edit cells. */
export function traceKey({ key, repeat, modified }: KeyPress, zone: Zone): TraceKey {
  if (modified) {
    return 'pass';
  }
  const action = actionOf(key, zone);
  return repeat && (NOT_REPEATED.includes(action) || /^(label|verdict) /.test(action)) ? 'swallow' : action;
}

function actionOf(key: string, zone: Zone): TraceKey {
  switch (zone) {
    case 'search':
      return IN_SEARCH[key] ?? 'native';
    case 'note':
      return IN_NOTE[key] ?? 'native';
    case 'field':
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
  return trans.__('j k move · e next failure · ⏎ open · r run again · / search · p f d verdict · n note · ? all keys');
}
