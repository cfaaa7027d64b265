import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../element.js';
import type { Move } from './keymap.js';
import { PAGE, type Pages } from './pages.js';
import { place, reveal, type Scroll } from './placement.js';
import { RowView } from './row.js';
import type { TraceLine } from './wire.js';

/** A row's height against the size of its text. */
const ROW = 28 / 13;
/** Rows that stay in view beyond the one that the keys go to. */
const MARGIN = 2;
/** Milliseconds without a change after which the list stands still. */
const STILL = 100;
let made = 0;

export interface ListEvents {
  /** A row was chosen, by pointer or key. */
  select(index: number): void;
  /** The arrow of a line was pressed. */
  fold(line: TraceLine): void;
}

/** Rows of a list of any length: those in view and a few around them are nodes, which wander. */
export class ListView {
  readonly node = element('div', 'nbtools-trace-list');
  selected: number | null = null;
  private readonly spacer = element('div', 'nbtools-trace-rows');
  private readonly id = `nbtools-trace-${++made}`;
  private rows = new Map<number, RowView>();
  private readonly idle: RowView[] = [];
  private pages: Pages | null = null;
  private folded: ReadonlySet<number> = new Set();
  private row = 28;
  private view = 0;
  /** The first row that was drawn last. */
  private first = 0;
  private drawing = 0;
  /** Where it was scrolled to when it was last seen. */
  private top: number | null = null;
  private settling = 0;
  private spacing = -1;
  private digits = 3;
  private readonly watcher = new ResizeObserver(() => this.measure());

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: ListEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'listbox');
    this.node.setAttribute('aria-label', trans.__('Steps'));
    this.spacer.setAttribute('role', 'presentation');
    this.node.append(this.spacer);
    this.node.addEventListener('scroll', () => this.redraw(), { passive: true });
    this.node.addEventListener('click', event => this.onClick(event));
    this.watcher.observe(this.node);
  }

  /** Other lines, at the top or where the list stands. */
  show(pages: Pages, folded: readonly number[], stay = false): void {
    this.pages = pages;
    this.folded = new Set(folded);
    if (!stay) {
      this.node.scrollTop = 0;
    }
    this.redraw();
  }

  /** Marks a row and brings it into view; null marks none. */
  mark(index: number | null, margin = MARGIN): void {
    this.selected = index;
    if (index !== null) {
      this.fit();
      this.node.scrollTop = reveal(this.scroll(), index, margin);
    }
    this.redraw();
  }

  /** The row that a key leads to. */
  target(move: Move): number {
    const page = Math.max(1, Math.floor(this.view / this.row) - 1);
    const from = this.selected ?? (move === 'next' ? -1 : 0);
    const steps = { next: 1, previous: -1, pageDown: page, pageUp: -page, first: -Infinity, last: Infinity };
    return Math.min(Math.max(from + steps[move], 0), (this.pages?.total ?? 0) - 1);
  }

  redraw(): void {
    this.drawing ||= requestAnimationFrame(() => {
      this.drawing = 0;
      this.draw();
    });
  }

  dispose(): void {
    this.watcher.disconnect();
    cancelAnimationFrame(this.drawing);
    window.clearTimeout(this.settling);
  }

  private scroll(): Scroll {
    return { ...this.extent(), top: this.node.scrollTop };
  }

  /** Without asking where the list stands, which after a change of the page has all of it laid out. */
  private extent(): Scroll {
    return { count: this.pages?.total ?? 0, row: this.row, view: this.view, top: 0 };
  }

  private measure(): void {
    const appeared = this.view === 0;
    this.view = this.node.clientHeight;
    this.row = Math.max(20, Math.round(parseFloat(getComputedStyle(this.node).fontSize) * ROW));
    this.node.style.setProperty('--nbtools-row', `${this.row}px`);
    if (appeared && this.view > 0) {
      this.restore();
    }
    this.redraw();
  }

  /** What was taken out of the page comes back scrolled to its top. */
  private restore(): void {
    this.fit();
    if (this.top === null) {
      this.mark(this.selected);
    } else {
      this.node.scrollTop = this.top;
    }
  }

  private fit(): void {
    const { height } = place(this.extent());
    if (height !== this.spacing) {
      this.spacing = height;
      this.spacer.style.height = `${height}px`;
    }
  }

  private draw(): void {
    const { pages } = this;
    if (pages === null || this.view === 0) {
      return;
    }
    const scroll = this.scroll();
    this.top = scroll.top;
    const { first, last, shift } = place(scroll);
    this.recycle(first, last);
    for (let index = first; index < last; index++) {
      this.drawRow(pages, index, index * this.row + shift);
    }
    this.idle.forEach(row => row.node.remove());
    this.fit();
    this.tellActive();
    const flies = Math.abs(first - this.first) > PAGE;
    this.first = first;
    flies || pages.want(first, last);
    window.clearTimeout(this.settling);
    this.settling = window.setTimeout(() => this.settle(pages, first, last), STILL);
  }

  private recycle(first: number, last: number): void {
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        this.rows.delete(index);
        this.idle.push(row);
      }
    }
  }

  private drawRow(pages: Pages, index: number, top: number): void {
    const row = this.rows.get(index) ?? this.take(index);
    const line = pages.line(index);
    row.update(line, line !== null && this.folded.has(line.line));
    row.place(index, top, this.id, pages.total);
    row.select(index === this.selected);
    this.widen(line);
  }

  private take(index: number): RowView {
    const row = this.idle.pop() ?? new RowView(this.trans);
    if (!row.node.isConnected) {
      this.spacer.append(row.node);
    }
    this.rows.set(index, row);
    return row;
  }

  /**
   * While it scrolls the nodes stand in any order; whoever reads them one by one finds them as they are seen.  Lines over which it flew
   * were not asked for: the kernel would be busy with them, and the page with showing that it is.
   */
  private settle(pages: Pages, first: number, last: number): void {
    pages.want(first, last);
    const rows = [...this.rows].sort(([a], [b]) => a - b).map(([, { node }]) => node);
    if (rows.some((node, i) => this.spacer.children[i] !== node)) {
      this.spacer.append(...rows);
    }
  }

  /** The column of the numbers only ever grows, so that nothing jumps to and fro. */
  private widen(line: TraceLine | null): void {
    const digits = Math.min(line?.number.length ?? 0, 9);
    if (digits > this.digits) {
      this.digits = digits;
      this.node.style.setProperty('--nbtools-digits', String(digits));
    }
  }

  private tellActive(): void {
    const row = this.selected === null ? undefined : this.rows.get(this.selected);
    row ? this.node.setAttribute('aria-activedescendant', row.node.id) : this.node.removeAttribute('aria-activedescendant');
  }

  private onClick(event: MouseEvent): void {
    const target = event.target as Element;
    const index = Number(target.closest<HTMLElement>('[data-index]')?.dataset['index'] ?? NaN);
    if (Number.isNaN(index)) {
      return;
    }
    const line = this.pages?.line(index);
    if (line && line.below && target.closest('.nbtools-trace-fold')) {
      this.events.fold(line);
    } else {
      this.events.select(index);
    }
  }
}
