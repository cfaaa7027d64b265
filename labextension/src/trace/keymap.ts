import type { TranslationBundle } from '@jupyterlab/translation';
import type { Key } from '../keys.js';

/** What has the focus. */
export type Zone = 'list' | 'search' | 'menu' | 'strip' | 'panel' | 'control';

export type Move = 'next' | 'previous' | 'pageDown' | 'pageUp' | 'first' | 'last';

/** `native` is the browser's own, past Jupyter's shortcuts; `pass` is Jupyter's. */
export type TraceKey = Move | 'open' | 'close' | 'again' | 'copy' | 'search' | 'clear' | 'fold' | 'unfold' | 'leave' | 'native' | 'swallow' | 'pass';

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
const IN_LIST: Readonly<Record<string, TraceKey>> = { ...MOVES, ArrowLeft: 'fold', ArrowRight: 'unfold', Enter: 'open', Escape: 'leave', ' ': 'swallow' };
const IN_SEARCH: Readonly<Record<string, TraceKey>> = { Escape: 'clear', ArrowDown: 'close', Enter: 'close' };
const ANYWHERE: Readonly<Record<string, TraceKey>> = { j: 'next', k: 'previous', r: 'again', c: 'copy', '/': 'search' };
const ONCE: readonly TraceKey[] = ['again', 'copy', 'open'];

/** What a key does in an explorer.  Letters without a meaning are swallowed: the notebook's command mode would cut or delete the cell. */
export function traceKey({ key, repeat, modified }: Key, zone: Zone): TraceKey {
  if (modified) {
    return 'pass';
  }
  const action = meaning(key, zone);
  return repeat && ONCE.includes(action) ? 'swallow' : action;
}

function meaning(key: string, zone: Zone): TraceKey {
  switch (zone) {
    case 'search':
      return IN_SEARCH[key] ?? 'native';
    case 'menu':
      return key === 'Escape' ? 'close' : 'native';
    case 'list':
      return IN_LIST[key] ?? ANYWHERE[key] ?? rest(key);
    case 'strip':
      return ANYWHERE[key] ?? (key.length === 1 ? 'swallow' : 'native');
    default:
      return key === 'Escape' ? 'close' : (ANYWHERE[key] ?? rest(key));
  }
}

function rest(key: string): TraceKey {
  return key.length === 1 && key !== ' ' ? 'swallow' : 'native';
}

export function keyHint(trans: TranslationBundle): string {
  return trans.__('j k move · ⏎ open · r run again · / search');
}
