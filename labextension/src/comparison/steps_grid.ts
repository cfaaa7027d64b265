import { element, updateChildren } from '../shared/element.js';
import { placeRows, scrollTopFor } from '../table/virtual_scroll.js';
import type { ComparisonContext } from './context.js';
import type { ComparedPage, ComparedRow, ComparisonView } from './model.js';

const ROW_HEIGHT = 24;
const PAGE = 200;

let grids = 0;

/** The aligned steps: a row for each, a column for each run.  Rows are requested as they come into view. */
export class StepsGrid {
  readonly node = element('div', 'nbtools-compare-steps');
  private readonly rows = element('div', 'nbtools-compare-rows');
  private readonly unfolded = new Set<number>();
  private readonly id = `nbtools-compare-${++grids}`;
  private readonly loading = new Set<number>();
  private loaded = new Map<number, ComparedRow>();
  private page: ComparedPage;
  private active = { row: 0, run: 0 };
  private version = 0;
  private readonly size = new ResizeObserver(() => this.draw());

  constructor(
    private readonly context: ComparisonContext,
    private readonly view: ComparisonView
  ) {
    this.page = view.page;
    const { node, rows } = this;
    node.tabIndex = 0;
    node.setAttribute('role', 'grid');
    node.setAttribute('aria-label', context.trans.__('Aligned steps'));
    node.setAttribute('aria-colcount', String(view.runs.length + 1));
    rows.setAttribute('role', 'rowgroup');
    node.style.setProperty('--nbtools-runs', String(view.runs.length));
    node.append(element('div', '', this.head()), rows);
    node.firstElementChild!.setAttribute('role', 'rowgroup');
    node.addEventListener('scroll', () => this.draw(), { passive: true });
    rows.addEventListener('click', event => this.onClick(event.target as Element));
    this.store(view.page);
    this.size.observe(node);
  }

  dispose(): void {
    this.size.disconnect();
  }

  focus(): void {
    this.node.focus();
  }

  /** Handles a key; returns false if it means nothing here. */
  onKey(key: string): boolean {
    const { row, run } = this.active;
    const screen = Math.max(1, Math.floor(this.node.clientHeight / ROW_HEIGHT) - 1);
    const rows: Record<string, number> = {
      ArrowDown: row + 1,
      j: row + 1,
      ArrowUp: row - 1,
      k: row - 1,
      PageDown: row + screen,
      PageUp: row - screen
    };
    const runs: Record<string, number> = { ArrowRight: run + 1, l: run + 1, ArrowLeft: run - 1, h: run - 1 };
    const places: Record<string, number | undefined> = {
      ...rows,
      Home: 0,
      End: this.page.total - 1,
      p: this.page.partings.find(at => at > row),
      P: [...this.page.partings].reverse().find(at => at < row)
    };
    if (key in places) {
      const place = places[key];
      place === undefined || this.select(place, run);
    } else if (key in runs) {
      this.select(row, runs[key]!);
    } else if (key === 'Enter' || key === ' ') {
      this.openRow(this.loaded.get(row), run);
    } else {
      return false;
    }
    return true;
  }

  private select(row: number, run: number): void {
    const limit = (at: number, count: number) => Math.min(Math.max(at, 0), count - 1);
    this.active = { row: limit(row, this.page.total), run: limit(run, this.view.runs.length) };
    const scroll = { count: this.page.total, rowHeight: ROW_HEIGHT, viewHeight: this.viewHeight(), top: this.node.scrollTop };
    this.node.scrollTop = scrollTopFor(scroll, this.active.row, 1);
    this.draw();
  }

  /** Opens the explorer of a run at the row's step, by default of the first run that has it; a fold is opened. */
  private openRow(row: ComparedRow | undefined, run: number): void {
    if (row?.count) {
      this.unfolded.add(row.index);
      void this.reload();
    } else if (row) {
      const at = row.numbers[run] ? run : row.numbers.findIndex(Boolean);
      at >= 0 && this.context.open(at, row.numbers[at]!);
    }
  }

  private onClick(target: Element): void {
    const cell = target.closest<HTMLElement>('[data-run]');
    const node = target.closest<HTMLElement>('[data-row]');
    if (node) {
      const row = Number(node.dataset['row']);
      const run = Number(cell?.dataset['run'] ?? this.active.run);
      const loaded = this.loaded.get(row);
      this.select(row, run);
      (!cell || loaded?.numbers[run] || loaded?.count) && this.openRow(loaded, cell ? run : -1);
    }
  }

  private async reload(): Promise<void> {
    this.version += 1;
    this.loading.clear();
    await this.load(Math.floor(this.active.row / PAGE));
  }

  private async load(page: number): Promise<void> {
    const { version } = this;
    this.loading.add(page);
    const { baseline } = this.view;
    const unfolded = [...this.unfolded];
    const reply = await this.context.query({ type: 'compared', baseline, first: page * PAGE, count: PAGE, unfolded });
    if (reply.type === 'compared' && version === this.version) {
      const isOther = this.page.total !== reply.total;
      this.page = reply;
      isOther && (this.loaded = new Map());
      this.store(reply);
      this.draw();
    }
    this.loading.delete(page);
  }

  private store({ first, rows }: ComparedPage): void {
    rows.forEach((row, i) => this.loaded.set(first + i, row));
  }

  /** The height of the visible rows, below the head. */
  private viewHeight(): number {
    return Math.max(this.node.clientHeight - ROW_HEIGHT, ROW_HEIGHT);
  }

  private draw(): void {
    const { total } = this.page;
    const { scrollTop: top } = this.node;
    const { height, first, last, shift } = placeRows({ count: total, rowHeight: ROW_HEIGHT, viewHeight: this.viewHeight(), top });
    this.node.setAttribute('aria-rowcount', String(total + 1));
    this.rows.style.height = `${height}px`;
    const shown = Array.from({ length: last - first }, (_, i) => this.row(first + i, (first + i) * ROW_HEIGHT + shift));
    updateChildren(this.rows, element('div', '', ...shown));
    this.node.setAttribute('aria-activedescendant', `${this.id}-active`);
    for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(last - 1, 0) / PAGE); page++) {
      const missing = Array.from({ length: Math.min(PAGE, total - page * PAGE) }, (_, i) => page * PAGE + i).some(
        at => !this.loaded.has(at)
      );
      missing && !this.loading.has(page) && void this.load(page);
    }
  }

  private head(): HTMLElement {
    const heads = this.view.runs.map(({ name, title }) => {
      const cell = element('span', '', name);
      cell.title = title;
      return cell;
    });
    const cells = [element('span', 'nbtools-compare-step', this.context.trans.__('Step')), ...heads];
    cells.forEach(cell => cell.setAttribute('role', 'columnheader'));
    const head = element('div', 'nbtools-compare-row nbtools-compare-head', ...cells);
    head.setAttribute('role', 'row');
    return head;
  }

  private row(at: number, top: number): HTMLElement {
    const row = this.loaded.get(at);
    const kind = row?.count ? 'fold' : row?.parts ? 'parting' : row?.differs ? 'differs' : '';
    const node = element('div', `nbtools-compare-row${kind && ` nbtools-compare-${kind}`}`);
    node.dataset['row'] = String(at);
    node.style.top = `${top}px`;
    node.setAttribute('role', 'row');
    node.setAttribute('aria-rowindex', String(at + 2));
    const isActive = at === this.active.row;
    node.classList.toggle('nbtools-compare-active', isActive);
    node.append(...(row ? this.cells(row, isActive) : [this.textCell('…')]));
    return node;
  }

  private cells(row: ComparedRow, isActive: boolean): HTMLElement[] {
    if (row.count) {
      const cell = this.textCell(this.context.trans._n('▸ %1 step the same', '▸ %1 steps the same', row.count));
      isActive && (cell.id = `${this.id}-active`);
      return [cell];
    }
    const numbers = row.numbers.map((number, run) => {
      const mark = row.marks[run] ?? '';
      const cell = element('span', mark && `nbtools-compare-${mark}`, number || (mark ? '·' : ''));
      cell.dataset['run'] = String(run);
      cell.title = this.titleOf(row, run);
      cell.setAttribute('role', 'gridcell');
      if (isActive && run === this.active.run) {
        cell.id = `${this.id}-active`;
        cell.setAttribute('aria-selected', 'true');
      }
      return cell;
    });
    const others = row.others.map(({ run, text }) => `≈ ${this.view.runs[run]?.name ?? ''}: ${text}`);
    const parts = row.parts ? this.context.trans.__('parts here: %1', row.parts) : '';
    const after = [parts, row.note, ...others].filter(Boolean).join(' · ');
    const text = this.textCell('');
    text.append(
      element('b', '', row.name),
      ' ',
      element('bdi', '', row.subject),
      element('span', 'nbtools-compare-ending', row.ending && ` ${row.ending}`),
      element('span', 'nbtools-compare-after', after && ` ${after}`)
    );
    text.title = [`${row.name} ${row.subject}`, row.ending, parts, row.note, ...others].filter(Boolean).join('\n');
    return [text, ...numbers];
  }

  private titleOf({ numbers, marks }: ComparedRow, run: number): string {
    const { trans } = this.context;
    const name = this.view.runs[run]!.name;
    if (!marks[run]) {
      return trans.__('%1 has no such step', name);
    }
    const kinds = { same: '', alike: trans.__('similar'), failed: trans.__('failed'), '': '' };
    return [trans.__('%1: step %2', name, numbers[run] ?? ''), kinds[marks[run]!]].filter(Boolean).join(', ');
  }

  private textCell(text: string): HTMLElement {
    const cell = element('span', 'nbtools-compare-step', text);
    cell.setAttribute('role', 'gridcell');
    return cell;
  }
}
