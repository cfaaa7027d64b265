import { element } from '../shared/element.js';
import { anchorOf, type Keys, type Move, MOVES, rowAfter, targetOf } from './places.js';
import { placeRows, rowsInView, scrollTopFor, type ScrollState } from './virtual_scroll.js';

/** Rows that stay in view above and below the active one. */
const MARGIN = 2;
/** Milliseconds without scrolling after which the table has settled. */
const SETTLE_DELAY = 100;
let tableCount = 0;

/** The nodes of a row, which are reused for other rows. */
export interface TableRow {
  readonly node: HTMLElement;
  /** The cell that is active while the row is; the whole row if it is absent or null. */
  readonly activeCell?: HTMLElement | null;
}

export interface TableOptions<R extends TableRow> {
  /** Rows of a listbox are options, which the table marks as selected; those of a grid have cells, which their owner marks. */
  readonly role: 'listbox' | 'grid';
  readonly className: string;
  readonly label: string;
  readonly multiselectable?: boolean;
  /** A row that stays in view above the others. */
  readonly head?: HTMLElement;
  /** Returns the pixels of a row.  Called whenever the size of the table has changed. */
  rowHeight(node: HTMLElement): number;
  createRow(): R;
  /** Draws a row.  Called for the rows in view at each drawing, so a row that is unchanged must be cheap. */
  updateRow(row: R, key: number, index: number): void;
  click(index: number, event: MouseEvent): void;
  /** Called with the rows in view, first to end (exclusive), when scrolling has ended. */
  settled?(first: number, end: number): void;
}

/** How the rows of a list are found in the one that replaces it. */
export interface Replacement {
  /** Returns the key that a row has now; null if it is gone.  Absent: it is the same. */
  readonly moved?: (key: number) => number | null;
  /** In a sorted list new rows may come anywhere: it stays at its start, else at its end. */
  readonly sorted?: boolean;
}

/**
 * A virtual table: only the rows in view and a few around them have nodes, which are reused.
 *
 * It has the focus, and its active row is `aria-activedescendant`.  With `setRange`, the rows from the active one to another are selected.
 */
export class Table<R extends TableRow> {
  readonly node: HTMLElement;
  /** The row with the cursor. */
  active: number | null = null;
  /** The other end of the selected range; null if only the active row is selected. */
  private rangeEnd: number | null = null;
  private readonly body = element('div', 'nbtools-table-rows');
  private readonly id = `nbtools-table-${++tableCount}`;
  private readonly rows = new Map<number, R>();
  private readonly unusedRows: R[] = [];
  private keys: Keys = [];
  private height = 28;
  private viewHeight = 0;
  private bodyHeight = -1;
  private animationFrame = 0;
  private settleTimer = 0;
  /** The scroll position of the last drawing; null before the first. */
  private lastScrollTop: number | null = null;
  /** The cell that has the id of the active one. */
  private activeCell: HTMLElement | null = null;
  private readonly resizeObserver = new ResizeObserver(() => this.measure());

  constructor(private readonly options: TableOptions<R>) {
    const { role, className, label, head } = options;
    this.node = element('div', `nbtools-table ${className}`);
    this.node.tabIndex = 0;
    this.node.setAttribute('role', role);
    this.node.setAttribute('aria-label', label);
    options.multiselectable && this.node.setAttribute('aria-multiselectable', 'true');
    this.body.setAttribute('role', role === 'grid' ? 'rowgroup' : 'presentation');
    if (head) {
      const group = element('div', 'nbtools-table-head', head);
      group.setAttribute('role', 'rowgroup');
      head.setAttribute('role', 'row');
      head.setAttribute('aria-rowindex', '1');
      this.node.append(group);
    }
    this.node.append(this.body);
    this.node.addEventListener('scroll', () => this.redraw(), { passive: true });
    this.body.addEventListener('click', event => this.onClick(event));
    this.resizeObserver.observe(this.node);
  }

  get total(): number {
    return this.keys.length;
  }

  /** Shows other rows, from the top or at the current scroll position. */
  show(keys: Keys, keepScroll = false): void {
    this.keys = keys;
    this.updateHeight();
    if (!keepScroll) {
      this.node.scrollTop = 0;
      this.lastScrollTop = this.lastScrollTop === null ? null : 0;
    }
    this.redraw();
  }

  /** Shows a list that has changed.  The active row, the range and the rows in view stay; a table at its end stays there. */
  replace(keys: Keys, { moved = key => key, sorted = false }: Replacement = {}): void {
    const before = this.keys;
    const [first, end] = this.rowsInView;
    const staysAtEnd = !sorted && this.viewHeight > 0 && this.isAtEnd;
    const staysAtStart = sorted && first === 0 && (this.active === null || this.active >= end);
    const anchor = anchorOf(this.active, [first, end]);
    const row = rowAfter(before, anchor, keys, moved);
    this.active = rowAfter(before, this.active, keys, moved);
    this.rangeEnd = this.active === null ? null : rowAfter(before, this.rangeEnd, keys, moved);
    this.show(keys, true);
    if (staysAtEnd) {
      this.scrollToEnd();
    } else if (!staysAtStart && row !== null && row !== anchor) {
      this.node.scrollTop += (row - anchor) * this.height;
    }
  }

  /** The key of a row; null if there is no such row. */
  keyAt(row: number | null): number | null {
    return row === null ? null : (this.keys[row] ?? null);
  }

  /** The row with a key; null if it is not listed. */
  rowOf(key: number): number | null {
    const row = this.keys.indexOf(key);
    return row < 0 ? null : row;
  }

  /** Makes a row the active one and scrolls to it; null: no row is active. */
  activate(row: number | null, margin = MARGIN): void {
    this.active = row;
    this.rangeEnd = row === null ? null : this.rangeEnd;
    if (row !== null) {
      this.updateHeight();
      this.node.scrollTop = scrollTopFor(this.scroll, row, margin);
    }
    this.redraw();
  }

  /** Begins or ends a range: the rows between the active one and the one that becomes active next. */
  setRange(extend: boolean): void {
    this.rangeEnd = extend ? (this.rangeEnd ?? this.active) : null;
    this.redraw();
  }

  get hasRange(): boolean {
    return this.rangeEnd !== null && this.rangeEnd !== this.active;
  }

  /** The first and the last row that are selected; null if none is. */
  get range(): readonly [number, number] | null {
    if (this.active === null) {
      return null;
    }
    const other = this.rangeEnd ?? this.active;
    return [Math.min(this.active, other), Math.max(this.active, other)];
  }

  /** Returns the row that a move leads to; −1 if there is none. */
  target(move: Move): number {
    return targetOf(move, this.active, Math.floor(this.viewHeight / this.height), this.total);
  }

  /** Moves the cursor; returns false if the key does not move it. */
  onKey(key: string): boolean {
    const move = Object.hasOwn(MOVES, key) ? MOVES[key]! : null;
    const row = move ? this.target(move) : -1;
    row >= 0 && this.activate(row);
    return move !== null;
  }

  /** The rows from the first that is fully in view to the last (exclusive). */
  get rowsInView(): readonly [number, number] {
    return rowsInView(this.scroll);
  }

  /** Whether the last row is in view. */
  get isAtEnd(): boolean {
    return this.node.scrollTop + this.viewHeight >= placeRows(this.extent).height - this.height / 2;
  }

  scrollToEnd(): void {
    this.updateHeight();
    this.node.scrollTop = this.node.scrollHeight;
    this.redraw();
  }

  /** Draws the rows in view again, in the next frame. */
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

  /** Takes over the size of the table, which has changed or has been shown again. */
  measure(): void {
    const wasHidden = this.viewHeight === 0;
    const { node } = this;
    const head = this.options.head?.offsetHeight ?? 0;
    this.viewHeight = node.clientHeight && Math.max(node.clientHeight - head, this.height);
    if (this.viewHeight > 0) {
      this.height = this.options.rowHeight(node);
      node.style.setProperty('--nbtools-row', `${this.height}px`);
      this.updateHeight();
    }
    if (wasHidden && this.viewHeight > 0) {
      this.restoreScroll();
    }
    this.redraw();
  }

  /** Restores the scroll position, which an element loses when it is removed from the page. */
  private restoreScroll(): void {
    if (this.lastScrollTop === null) {
      this.activate(this.active);
    } else {
      this.node.scrollTop = this.lastScrollTop;
    }
  }

  private get scroll(): ScrollState {
    return { ...this.extent, top: this.node.scrollTop };
  }

  /** The scroll state without the position: reading the position forces a layout of the page. */
  private get extent(): ScrollState {
    return { count: this.total, rowHeight: this.height, viewHeight: this.viewHeight, top: 0 };
  }

  private updateHeight(): void {
    const { height } = placeRows(this.extent);
    if (height !== this.bodyHeight) {
      this.bodyHeight = height;
      this.body.style.height = `${height}px`;
    }
  }

  private draw(): void {
    // A table that was hidden a moment ago has lost its scroll position, which is restored when it is shown again.
    if (this.viewHeight === 0 || this.node.clientHeight === 0) {
      return;
    }
    const { scroll } = this;
    this.lastScrollTop = scroll.top;
    const { first, last, shift } = placeRows(scroll);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) {
        this.rows.delete(index);
        this.unusedRows.push(row);
      }
    }
    for (let index = first; index < last; index++) {
      this.drawRow(index, index * this.height + shift);
    }
    this.unusedRows.forEach(row => row.node.remove());
    this.updateHeight();
    this.options.role === 'grid' && this.node.setAttribute('aria-rowcount', String(this.total + this.headRows));
    this.updateActive();
    window.clearTimeout(this.settleTimer);
    this.settleTimer = window.setTimeout(() => this.settle(), SETTLE_DELAY);
  }

  private get headRows(): number {
    return this.options.head ? 1 : 0;
  }

  private drawRow(index: number, top: number): void {
    const row = this.rows.get(index) ?? this.takeRow(index);
    const { node } = row;
    node.style.transform = `translateY(${top}px)`;
    node.dataset['index'] = String(index);
    node.classList.toggle('nbtools-table-active', index === this.active);
    if (this.options.role === 'listbox') {
      const { range } = this;
      node.setAttribute('aria-posinset', String(index + 1));
      node.setAttribute('aria-setsize', String(this.total));
      node.setAttribute('aria-selected', String(range !== null && index >= range[0] && index <= range[1]));
    } else {
      node.setAttribute('aria-rowindex', String(index + 1 + this.headRows));
    }
    this.options.updateRow(row, this.keys[index]!, index);
  }

  private takeRow(index: number): R {
    const row = this.unusedRows.pop() ?? this.options.createRow();
    row.node.setAttribute('role', this.options.role === 'grid' ? 'row' : 'option');
    row.node.isConnected || this.body.append(row.node);
    this.rows.set(index, row);
    return row;
  }

  private updateActive(): void {
    const row = this.active === null ? undefined : this.rows.get(this.active);
    const cell = row ? (row.activeCell ?? row.node) : null;
    if (cell !== this.activeCell) {
      this.activeCell?.removeAttribute('id');
      this.activeCell = cell;
    }
    if (row && cell) {
      // The id differs from row to row and from cell to cell: screen readers announce a change of the attribute.
      cell.id = `${this.id}-${this.active}-${cell === row.node ? 'row' : [...row.node.children].indexOf(cell)}`;
      this.node.setAttribute('aria-activedescendant', cell.id);
    } else {
      this.node.removeAttribute('aria-activedescendant');
    }
  }

  /** Sorts the row nodes into their visible order for screen readers when scrolling has ended. */
  private settle(): void {
    const nodes = [...this.rows].sort(([a], [b]) => a - b).map(([, { node }]) => node);
    if (nodes.some((node, i) => this.body.children[i] !== node)) {
      this.body.append(...nodes);
    }
    this.options.settled?.(...this.rowsInView);
  }

  private onClick(event: MouseEvent): void {
    const row = (event.target as Element).closest<HTMLElement>('[data-index]');
    row && this.options.click(Number(row.dataset['index']), event);
  }
}
