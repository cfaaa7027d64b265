import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { scrollToRange, SearchMarks } from './search_marks.js';

/** Marks the hits of a search in a step, and goes from one to the next. */
export class HitBar {
  readonly node = element('div', 'nbtools-trace-hits');
  private readonly marks = new SearchMarks();
  private readonly place = element('span', '');
  private current = 0;
  /** Whether the first hit has been scrolled into view. */
  private revealed = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly trans: TranslationBundle
  ) {
    this.place.setAttribute('role', 'status');
    const button = (label: string, title: string, key: string, step: number) => {
      const node = linkButton(label, () => this.move(step), `${title} (${key})`);
      node.setAttribute('aria-label', title);
      return node;
    };
    this.node.append(this.place, button('↑', trans.__('Previous hit'), 'N', -1), button('↓', trans.__('Next hit'), 'n', 1));
    this.node.hidden = true;
  }

  /** Sets the texts to mark in the next step that is drawn.  Returns whether they have changed. */
  setHits(hits: readonly string[]): boolean {
    const changed = hits.join('\n') !== this.marks.hits.join('\n');
    this.marks.hits = hits;
    return changed;
  }

  /** Marks the hits of a step that has just been drawn: its long blocks are unfolded, and its first hit is scrolled into view. */
  start(): void {
    this.current = 0;
    this.revealed = false;
    if (this.marks.hits.length) {
      this.root.querySelectorAll<HTMLElement>('.nbtools-more > [aria-expanded=false]:not([hidden])').forEach(button => button.click());
    }
    this.draw();
  }

  /** Marks the hits again, because text has appeared. */
  draw(): void {
    const count = this.marks.draw(this.root);
    this.node.hidden = count === 0;
    if (count) {
      this.select(Math.min(this.current, count - 1), !this.revealed, this.root);
      this.revealed = true;
    }
  }

  /** Whether the texts that were searched for occur in the step, or are looked for in it. */
  get hasHits(): boolean {
    return this.marks.hits.length > 0;
  }

  move(step: number): void {
    const { count } = this.marks;
    if (count) {
      this.select((this.current + step + count) % count, true, null);
    }
  }

  clear(): void {
    this.marks.clear();
    this.node.hidden = true;
  }

  private select(index: number, scroll: boolean, root: Element | null): void {
    this.current = index;
    const range = this.marks.select(index);
    setText(this.place, this.trans.__('Hit %1 of %2', index + 1, this.marks.count));
    scroll && scrollToRange(range, root);
  }
}
