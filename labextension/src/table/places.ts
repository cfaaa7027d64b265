/** The keys of the listed rows, in their order.  A key stays with its row when others come above it, or the order changes. */
export interface Keys {
  readonly length: number;
  readonly [row: number]: number;
  indexOf(key: number): number;
}

export type Move = 'next' | 'previous' | 'pageDown' | 'pageUp' | 'first' | 'last';

export const MOVES: Readonly<Record<string, Move>> = {
  j: 'next',
  k: 'previous',
  ArrowDown: 'next',
  ArrowUp: 'previous',
  PageDown: 'pageDown',
  PageUp: 'pageUp',
  Home: 'first',
  End: 'last'
};

/** Returns the row that a move leads to, from the active one; `screen` rows are in view, and −1 means that there is no row. */
export function targetOf(move: Move, active: number | null, screen: number, total: number): number {
  const page = Math.max(1, screen - 1);
  const from = active ?? (move === 'next' ? -1 : 0);
  const steps = { next: 1, previous: -1, pageDown: page, pageUp: -page, first: -Infinity, last: Infinity };
  return Math.min(Math.max(from + steps[move], 0), total - 1);
}

/** Returns the row to keep where it is while others come above: the active one if it is in view, else the first one in view. */
export function anchorOf(active: number | null, [first, end]: readonly [number, number]): number {
  return active !== null && first <= active && active < end ? active : first;
}

/** Returns where a row is in another list; null if it is not there.  `moved` returns the key that a row has now, null if it is gone. */
export function rowAfter(before: Keys, row: number | null, after: Keys, moved: (key: number) => number | null): number | null {
  const key = row === null ? undefined : before[row];
  const now = key === undefined ? null : moved(key);
  const found = now === null ? -1 : after.indexOf(now);
  return found < 0 ? null : found;
}
