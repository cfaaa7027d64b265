import { element, linkButton } from '../../shared/element.js';
import { DEFAULT_SETTINGS } from '../../shared/setting_values.js';
import type { CardContext } from '../../shared/tokens.js';
import { withLinks } from './block.js';

/** A block with up to this many more lines is shown whole. */
const SLACK = 4;

/**
 * The line below a long block: a button that shows all its lines or only the first ones again, and a sentence on what is shown.
 * `box` is the element of the lines, whose end fades while lines are hidden.
 */
export class Preview {
  readonly node = element('div', 'nbtools-more');
  private readonly button: HTMLButtonElement;
  private readonly note = element('span', 'nbtools-extent');
  private expanded = false;

  constructor(
    private readonly context: CardContext,
    private readonly box: HTMLElement,
    private readonly redraw: () => void
  ) {
    this.button = linkButton('', () => this.toggle());
    this.node.append(this.button, this.note);
  }

  /** Returns how many of `count` lines are shown. */
  shown(count: number): number {
    const lines = this.lines;
    return this.expanded || count <= lines + SLACK ? count : lines;
  }

  /** Draws the button and the sentence; `total` is the number of lines that exist, `height` that of lines on the screen. */
  update(shown: number, count: number, total: number, sentence: string, height = count): void {
    const { trans } = this.context;
    const foldable = height > this.lines + SLACK;
    const all = total > count ? trans.__('Show %1', count.toLocaleString()) : trans.__('Show all %1', count.toLocaleString());
    this.button.textContent = this.expanded ? trans.__('Collapse') : all;
    this.button.hidden = !foldable;
    this.button.setAttribute('aria-expanded', String(this.expanded));
    this.note.replaceChildren(...withLinks(sentence));
    this.node.hidden = !foldable && !sentence;
    this.box.classList.toggle('nbtools-faded', shown < count);
  }

  private get lines(): number {
    return (this.context.settings?.values ?? DEFAULT_SETTINGS).previewLines;
  }

  private toggle(): void {
    const top = this.node.getBoundingClientRect().top;
    this.expanded = !this.expanded;
    this.redraw();
    if (!this.expanded) {
      // The page keeps its place: the button stays below the pointer.
      scrollBy(this.node, this.node.getBoundingClientRect().top - top);
    }
  }
}

function scrollBy(node: HTMLElement, distance: number): void {
  for (let parent = node.parentElement; parent; parent = parent.parentElement) {
    if (parent.scrollHeight > parent.clientHeight && getComputedStyle(parent).overflowY.match(/auto|scroll/)) {
      parent.scrollTop += distance;
      return;
    }
  }
}

/** Returns one sentence on what is shown; `more` is what the tool says of the rest (`1–100 of 560 matching lines`). */
export function extent(context: CardContext, shown: number, sentence: string, more: string): string {
  return !sentence || /^\d/.test(more)
    ? sentence && more
      ? context.trans.__('%1 shown of %2', shown.toLocaleString(), more)
      : sentence || more
    : [sentence, more].filter(Boolean).join('. ');
}
