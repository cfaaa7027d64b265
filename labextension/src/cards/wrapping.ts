import { DEFAULT_SETTINGS } from '../shared/setting_values.js';
import type { CardContext } from '../shared/tokens.js';
import type { Block } from './blocks/block.js';

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

/** Whether lines of the block in `node` are wider than the block, or are wrapped. */
export function hasLongLines(node: HTMLElement, wrapped: boolean): boolean {
  const boxes = [...node.querySelectorAll('.nbtools-scroll:not(.nbtools-screen), .nbtools-pane')];
  return boxes.some(box => wrapped || box.scrollWidth > box.clientWidth + 1);
}
