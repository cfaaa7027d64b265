import { DEFAULT_SETTINGS } from '../shared/setting_values.js';
import type { CardContext } from '../shared/tokens.js';
import type { Block } from './blocks/block.js';

/** Pixels of a character in code, and of the line numbers beside it. */
const CHARACTER = 7.8;
const GUTTER = 70;

/** The choice that a person made last for a kind of block; it applies to all cards until the page is closed or the setting changes. */
const chosen = new Map<Block['type'], boolean>();
const listeners = new Set<() => void>();

/** Whether the lines of such blocks wrap.  Texts and outputs always do. */
export function wraps(type: Block['type'], { settings }: CardContext): boolean {
  return chosen.get(type) ?? (settings?.values ?? DEFAULT_SETTINGS).wrapLines;
}

export function chooseWrapping(types: Iterable<Block['type']>, wrapped: boolean): void {
  for (const type of types) {
    chosen.set(type, wrapped);
  }
  listeners.forEach(listener => listener());
}

/** Calls `listener` when a choice or the setting has changed, until the function that is returned is called. */
export function onWrappingChange({ settings }: CardContext, listener: () => void): () => void {
  const reset = () => {
    chosen.clear();
    listener();
  };
  listeners.add(listener);
  settings?.changed.connect(reset);
  return () => {
    listeners.delete(listener);
    settings?.changed.disconnect(reset);
  };
}

/** Whether lines of the block do not fit into `width` pixels. */
export function hasLongLines(block: Block, width: number): boolean {
  const longest = (width - GUTTER) / CHARACTER;
  return width > 0 && lengths(block).some(length => length > longest);
}

/** Returns the numbers of characters of the lines that wrapping is about. */
function lengths(block: Block): number[] {
  switch (block.type) {
    case 'code':
      return block.lines.map(lengthOf);
    case 'matches':
      return block.groups.flatMap(group => group.lines.map(line => lengthOf(line.spans)));
    case 'listing':
      return block.entries.map(({ path, branch, note }) => path.length + branch.length + note.length);
    case 'diff':
      return block.hunks.flatMap(hunk =>
        hunk.rows.flatMap(({ old, new: now }) => [lengthOf(old?.spans ?? []), lengthOf(now?.spans ?? [])])
      );
    default:
      return [];
  }
}

function lengthOf(spans: readonly (readonly [string, string])[]): number {
  return spans.reduce((sum, [text]) => sum + text.length, 0);
}
