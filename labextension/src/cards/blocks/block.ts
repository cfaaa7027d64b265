import { element, linkButton, makeScrollable } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { Card } from '../model.js';

export type Block = Card['blocks'][number];

/** The web addresses in a text. */
const ADDRESS = /(https?:\/\/[^\s<>"'‹›]+[^\s<>"'‹›.,;:!?)\]}])/;

/** A link that a block adds to the card's foot. */
export interface Action {
  readonly label: string;
  readonly run: () => void;
}

/** The view of a block.  `update` preserves expanded parts, scroll position and focus. */
export interface BlockView<B extends Block> {
  readonly node: HTMLElement;
  update(block: B): void;
  actions?(): readonly Action[];
  dispose?(): void;
}

/**
 * Creates a link from a path or line number to the file, or to the cell of a notebook with the id `cell`; if the file cannot be opened,
 * plain text with the reason as its tooltip.
 */
export function placeLink(context: CardContext, label: string, path: string, line: number | null, cell = ''): HTMLElement {
  const serverPath = context.locate(path);
  if (serverPath === null) {
    const text = element('span', 'nbtools-unreachable', label);
    text.title = context.trans.__('%1 cannot be opened: it is outside the folder that Jupyter serves', path);
    return text;
  }
  const title = line === null ? context.trans.__('Open %1', path) : context.trans.__('Open %1 at line %2', path, line);
  return linkButton(label, () => context.open(serverPath, line, cell), title);
}

/** Creates a box with a limited height that can be scrolled with the keyboard. */
export function scrollBox(className: string, label: string): HTMLElement {
  const box = element('div', `nbtools-scroll ${className}`);
  makeScrollable(box, label);
  return box;
}

/** Sets the width of the line number column to fit the largest number. */
export function setNumberWidth(box: HTMLElement, last: number): void {
  box.style.setProperty('--nbtools-digits', String(String(last).length));
}

/** Returns a text with its web addresses as links. */
export function withLinks(text: string): (Node | string)[] {
  return text.split(ADDRESS).map((part, i) => {
    if (i % 2 === 0) {
      return part;
    }
    const link = element('a', '', part);
    link.href = part;
    link.rel = 'noopener noreferrer';
    link.target = '_blank';
    return link;
  });
}
