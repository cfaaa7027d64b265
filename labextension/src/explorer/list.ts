import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import type { Move } from './keymap.js';
import { PAGE_SIZE, type PageCache } from './page_cache.js';
import { placeRows, scrollTopFor, type ScrollState } from '../table/virtual_scroll.js';
import { RowView } from './row.js';
import type { TraceFilter, TraceLine, TraceMark } from './model.js';

/** The height of a row relative to its font size. */
const ROW_HEIGHT_RATIO = 28 / 13;
/** Rows that are kept in view above and below the selected one. */
const MARGIN = 2;
/** Milliseconds without scrolling after which the list has settled. */
const SETTLE_DELAY = 100;
let listCount = 0;

export interface ListEvents {
  /** A row was clicked. */
  select(index: number): void;
  /** The fold arrow of a line was clicked. */
  fold(line: TraceLine): void;
}

/** How many rows came above the first one in view, and the rows that are selected now. */
export interface ListPlaces {
  readonly shift: number;
  readonly selected: number | null;
  readonly rangeEnd: number | null;
}

/** A virtual list of steps: only the visible rows and a few around them have nodes, which are reused. */
export class ListView {
  readonly node = element('div', 'nbtools-trace-list');
  selected: number | null = null;
  /** The other end of a selected range; null if a single row is selected. */
  private rangeEnd: number | null = null;
  private marks: ReadonlyMap<number, readonly TraceMark[]> = new Map();
  /** Whether a line of the log is marked as new. */
  isNew: (line: number) => boolean = () => false;
  private readonly spacer = element('div', 'nbtools-trace-rows');
  private readonly id = `nbtools-trace-${++listCount}`;
  private rows = new Map<number, RowView>();
  private readonly unusedRows: RowView[] = [];
  private pages: PageCache | null = null;
  private folded: ReadonlySet<number> = new Set();
  private rowHeight = 28;
  private viewHeight = 0;
  /** The first row of the last drawing. */
  private firstDrawn = 0;
  private animationFrame = 0;
  /** The scroll position of the last drawing; null before the first. */
  private lastScrollTop: number | null = null;
  private settleTimer = 0;
  private spacerHeight = -1;
  private digits = 3;
  private readonly resizeObserver = new ResizeObserver(() => this.measure());

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: ListEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'listbox');
    this.node.setAttribute('aria-multiselectable', 'true');
    this.node.setAttribute('aria-label', trans.__('Steps'));
    this.spacer.setAttribute('role', 'presentation');
    this.node.append(this.spacer);
    this.node.addEventListener('scroll', () => this.redraw(), { passive: true });
    this.node.addEventListener('click', event => this.onClick(event));
    this.resizeObserver.observe(this.node);
  }

  /** Shows other lines, from the top or at the current scroll position. */
  show(pages: PageCache, folded: readonly number[], keepScroll = false): void {
    this.pages = pages;
    this.folded = new Set(folded);
    if (!keepScroll) {
      this.node.scrollTop = 0;
    }
    this.redraw();
  }

  /** Shows marks on lines, by the lines' numbers. */
  setMarks(marks: ReadonlyMap<number, readonly TraceMark[]>): void {
    this.marks = marks;
    this.redraw();
  }

  /** The selected lines of the log, first and last; null if none is selected or loaded. */
  get selectedLines(): readonly [TraceLine, TraceLine] | null {
    const ends = this.selectedRows?.map(index => this.pages?.line(index) ?? null);
    return ends?.[0] && ends[1] ? [ends[0], ends[1]] : null;
  }

  /** Begins or ends a range: the rows between the one that is selected now and the one that is selected next. */
  setRange(extend: boolean): void {
    this.rangeEnd = extend ? (this.rangeEnd ?? this.selected) : null;
    this.redraw();
  }

  get hasRange(): boolean {
    return this.rangeEnd !== null && this.rangeEnd !== this.selected;
  }

  private get selectedRows(): readonly [number, number] | null {
    if (this.selected === null) {
      return null;
    }
    const other = this.rangeEnd ?? this.selected;
    return [Math.min(this.selected, other), Math.max(this.selected, other)];
  }

  /** Marks a row as selected and scrolls to it; null removes the mark. */
  mark(index: number | null, margin = MARGIN): void {
    this.selected = index;
    this.rangeEnd = index === null ? null : this.rangeEnd;
    if (index !== null) {
      this.updateSpacer();
      this.node.scrollTop = scrollTopFor(this.scroll(), index, margin);
    }
    this.redraw();
  }

  /** Returns the row that a key selects. */
  target(move: Move): number {
    const page = Math.max(1, Math.floor(this.viewHeight / this.rowHeight) - 1);
    const from = this.selected ?? (move === 'next' ? -1 : 0);
    const steps = { next: 1, previous: -1, pageDown: page, pageUp: -page, first: -Infinity, last: Infinity };
    return Math.min(Math.max(from + steps[move], 0), (this.pages?.total ?? 0) - 1);
  }

  /** Whether the last row is in view. */
  get isAtEnd(): boolean {
    const { height } = placeRows(this.extent());
    return this.node.scrollTop + this.viewHeight >= height - this.rowHeight / 2;
  }

  /** The row to keep where it is while others come above: the selected one if it is in view, else the first one in view, if it is loaded. */
  get anchor(): { readonly row: number; readonly line: number } | null {
    const [first, end] = this.rowsInView();
    const row = this.selected !== null && first <= this.selected && this.selected < end ? this.selected : first;
    const line = this.pages?.line(row);
    return line ? { row, line: line.line } : null;
  }

  get firstInView(): number {
    return this.rowsInView()[0];
  }

  /** The rows from the first that is fully in view to the last (exclusive). */
  private rowsInView(): readonly [number, number] {
    const scroll = this.scroll();
    const top = scroll.top - placeRows(scroll).shift;
    const end = Math.floor((top + this.viewHeight) / this.rowHeight);
    return [Math.ceil(top / this.rowHeight), Math.min(end, this.pages?.total ?? 0)];
  }

  /** Returns the lines of the log that are fully in view. */
  visibleLines(): number[] {
    const [first, end] = this.rowsInView();
    return Array.from({ length: Math.max(end - first, 0) }, (_, i) => this.pages?.line(first + i)?.line ?? []).flat();
  }

  /** The selected row and the other end of a range; null where there is none. */
  get ends(): readonly [number | null, number | null] {
    return [this.selected, this.rangeEnd];
  }

  /** The lines of the log at `ends`, where they are loaded. */
  get endLines(): readonly (number | null)[] {
    return this.ends.map(index => (index === null ? null : (this.pages?.line(index)?.line ?? null)));
  }

  /** Shows the lines of a log that has grown.  At the end, the list stays there; a sorted list stays at its start. */
  replace(pages: PageCache, { shift, selected, rangeEnd }: ListPlaces, { order, folded }: TraceFilter): void {
    const [first, end] = this.rowsInView();
    const staysAtEnd = order === '' && this.isAtEnd;
    const staysAtStart = order !== '' && first === 0 && (this.selected === null || this.selected >= end);
    this.selected = selected;
    this.rangeEnd = selected === null ? null : rangeEnd;
    this.show(pages, folded, true);
    staysAtEnd ? this.scrollToEnd() : this.scrollByRows(staysAtStart ? 0 : shift);
  }

  scrollToEnd(): void {
    this.updateSpacer();
    this.node.scrollTop = this.node.scrollHeight;
    this.redraw();
  }

  private scrollByRows(count: number): void {
    this.updateSpacer();
    this.node.scrollTop += count * this.rowHeight;
  }

  redraw(): void {
    this.animationFrame ||= requestAnimationFrame(() => {
      this.animationFrame = 0;
      this.draw();
    });
  }

  dispose(): void {
    this.resizeObserver.disconnect();
    cancelAnimationFrame(this.animationFrame);
    window.clearTimeout(this.settleTimer);
  }

  private scroll(): ScrollState {
    return { ...this.extent(), top: this.node.scrollTop };
  }

  /** The scroll state without the position: reading the position forces a layout of the page. */
  private extent(): ScrollState {
    return { count: this.pages?.total ?? 0, rowHeight: this.rowHeight, viewHeight: this.viewHeight, top: 0 };
  }

  /** Takes over the size of the list's element, which has changed or has been shown again. */
  measure(): void {
    const becameVisible = this.viewHeight === 0;
    this.viewHeight = this.node.clientHeight;
    this.rowHeight = Math.max(20, Math.round(parseFloat(getComputedStyle(this.node).fontSize) * ROW_HEIGHT_RATIO));
    this.node.style.setProperty('--nbtools-row', `${this.rowHeight}px`);
    if (becameVisible && this.viewHeight > 0) {
      this.restoreScroll();
    }
    this.redraw();
  }

  /** Restores the scroll position, which an element loses when it is removed from the page. */
  private restoreScroll(): void {
    this.updateSpacer();
    if (this.lastScrollTop === null) {
      this.mark(this.selected);
    } else {
      this.node.scrollTop = this.lastScrollTop;
    }
  }

  private updateSpacer(): void {
    const { height } = placeRows(this.extent());
    if (height !== this.spacerHeight) {
      this.spacerHeight = height;
      this.spacer.style.height = `${height}px`;
    }
  }

  private draw(): void {
    const { pages } = this;
    if (pages === null || this.viewHeight === 0) {
      return;
    }
    const scroll = this.scroll();
    this.lastScrollTop = scroll.top;
    const { first, last, shift } = placeRows(scroll);
    this.recycle(first, last);
    for (let index = first; index < last; index++) {
      this.drawRow(pages, index, index * this.rowHeight + shift);
    }
    this.unusedRows.forEach(row => row.node.remove());
    this.updateSpacer();
    this.updateActiveDescendant();
    const scrollsFast = Math.abs(first - this.firstDrawn) > PAGE_SIZE;
    this.firstDrawn = first;
    scrollsFast || pages.setVisible(first, last);
    window.clearTimeout(this.settleTimer);
    this.settleTimer = window.setTimeout(() => this.settle(pages, first, last), SETTLE_DELAY);
  }

  private recycle(first: number, last: number): void {
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        this.rows.delete(index);
        this.unusedRows.push(row);
      }
    }
  }

  private drawRow(pages: PageCache, index: number, top: number): void {
    const row = this.rows.get(index) ?? this.takeRow(index);
    const line = pages.line(index);
    row.update(line, line !== null && this.folded.has(line.line), line === null ? undefined : this.marks.get(line.line));
    row.place(index, top, this.id, pages.total);
    const range = this.selectedRows;
    row.select(range !== null && index >= range[0] && index <= range[1]);
    row.node.classList.toggle('nbtools-trace-new', line !== null && this.isNew(line.line));
    this.widenNumbers(line);
  }

  private takeRow(index: number): RowView {
    const row = this.unusedRows.pop() ?? new RowView(this.trans);
    if (!row.node.isConnected) {
      this.spacer.append(row.node);
    }
    this.rows.set(index, row);
    return row;
  }

  /**
   * Called when scrolling has ended.  Loads the visible lines, which fast scrolling skips to spare the kernel, and sorts the row nodes into
   * their visible order for screen readers.
   */
  private settle(pages: PageCache, first: number, last: number): void {
    pages.setVisible(first, last);
    const rows = [...this.rows].sort(([a], [b]) => a - b).map(([, { node }]) => node);
    if (rows.some((node, i) => this.spacer.children[i] !== node)) {
      this.spacer.append(...rows);
    }
  }

  /** Widens the column of numbers if needed.  It never shrinks, so that the layout does not jump. */
  private widenNumbers(line: TraceLine | null): void {
    const digits = Math.min(line?.number.length ?? 0, 9);
    if (digits > this.digits) {
      this.digits = digits;
      this.node.style.setProperty('--nbtools-digits', String(digits));
    }
  }

  private updateActiveDescendant(): void {
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
      this.setRange(event.shiftKey);
      this.events.select(index);
    }
  }
}
