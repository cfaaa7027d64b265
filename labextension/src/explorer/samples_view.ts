import type { TranslationBundle } from '@jupyterlab/translation';
import type { Result } from '../shared/channel.js';
import { element, linkButton, setText } from '../shared/element.js';
import { Table, type TableRow } from '../table/table.js';
import type { TraceOpened } from './model.js';
import { failureMessage } from './requests.js';
import { hasError, isIncorrect, listedSamples, type SampleFilter, type SampleRow, sampleRows } from './sample_rows.js';

export interface SamplesEvents {
  /** Requests the whole texts of a sample. */
  load(sample: number): Promise<TraceOpened>;
  /** Shows them, or why they could not be loaded. */
  show(opened: TraceOpened | string): void;
  /** Goes to the steps of a sample. */
  goToLine(line: number): void;
  close(): void;
}

interface Column {
  readonly key: string;
  readonly label: string;
  readonly width: string;
  readonly isText: boolean;
  /** The width of the table in pixels from which the column is shown. */
  readonly from: number;
  text(row: SampleRow): string;
  note?(row: SampleRow): string;
}

const ROW_HEIGHT = 28;
/** Milliseconds for which a sample must be selected before it is loaded, so that repeating keys do not load every one. */
const SELECT_DELAY = 60;
let count = 0;

/** The samples of an evaluation, in place of the list of steps: a table to sort and filter. */
export class SamplesView {
  readonly node = element('section', 'nbtools-sessions');
  private readonly style = element('style');
  private readonly scope = `nbtools-samples-${++count}`;
  private readonly search = element('input', 'nbtools-trace-search');
  private readonly chips = element('span', 'nbtools-sessions-actions');
  private readonly status = element('span', 'nbtools-sessions-count');
  private readonly message = element('div', 'nbtools-sessions-message');
  private readonly heads = new Map<string, HTMLElement>();
  private readonly table: Table<SampleRowView>;
  private readonly columns: readonly Column[];
  private rows: readonly SampleRow[];
  private filter: SampleFilter = { only: '', text: '', sort: '', descending: false };
  private opened: number | null = null;
  private loadTimer = 0;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: SamplesEvents,
    private reply: Result<'trace.samples'>
  ) {
    this.rows = sampleRows(reply);
    this.columns = this.createColumns(reply.scorers);
    this.node.classList.add(this.scope);
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Samples'));
    this.search.type = 'search';
    this.search.placeholder = trans.__('Filter samples');
    this.search.title = trans.__('Samples with these words in what the table shows of them');
    this.search.setAttribute('aria-label', trans.__('Filter samples'));
    this.search.addEventListener('input', () => this.change({ text: this.search.value }));
    this.status.setAttribute('role', 'status');
    this.table = new Table<SampleRowView>({
      role: 'grid',
      className: 'nbtools-sessions-table',
      label: trans.__('Samples'),
      head: this.createHead(),
      rowHeight: () => ROW_HEIGHT,
      createRow: () => new SampleRowView(this.columns),
      updateRow: (row, key) => row.update(this.rows[key]!, key === this.opened),
      click: (index, event) => this.onClick(index, event)
    });
    const back = linkButton(trans.__('‹ all steps'), () => events.close());
    this.node.append(
      this.style,
      element('div', 'nbtools-sessions-filters', back, this.search, this.chips, this.status),
      this.message,
      this.table.node,
      element('div', 'nbtools-sessions-foot', trans.__('⏎ goes to the steps of a sample, / filters'))
    );
    setText(this.style, this.styleText());
    this.show();
  }

  /** Shows the samples of the log that has grown. */
  update(reply: Result<'trace.samples'>): void {
    this.reply = reply;
    this.rows = sampleRows(reply);
    this.show(true);
  }

  dispose(): void {
    window.clearTimeout(this.loadTimer);
    this.table.dispose();
    this.node.remove();
  }

  /** Moves the focus to the table, and shows a sample's texts. */
  focus(): void {
    this.table.node.focus({ preventScroll: true });
    this.select(this.table.active ?? 0);
  }

  private createColumns(scorers: readonly string[]): readonly Column[] {
    const { trans } = this;
    const text = (
      key: 'input' | 'target' | 'answer' | 'outcome' | 'error' | 'limit',
      label: string,
      width: string,
      from: number
    ): Column => ({
      key,
      label,
      width,
      isText: true,
      from,
      text: row => row[key],
      note: row => row[key]
    });
    const has = (test: (row: SampleRow) => boolean) => this.rows.some(test);
    const columns: (Column | false)[] = [
      {
        key: 'id',
        label: trans.__('Sample'),
        width: 'minmax(76px, 0.7fr)',
        isText: true,
        from: 0,
        text: row => row.id || '?',
        note: row => row.id
      },
      has(row => row.epoch > 1) && {
        key: 'epoch',
        label: trans.__('Epoch'),
        width: '52px',
        isText: false,
        from: 0,
        text: row => countText(row.epoch)
      },
      text('input', trans.__('Input'), 'minmax(80px, 2fr)', 0),
      has(row => row.target !== '') && text('target', trans.__('Target'), 'minmax(60px, 1fr)', 520),
      has(row => row.answer !== '') && text('answer', trans.__('Answer'), 'minmax(60px, 1fr)', 420),
      ...scorers.map((label, i): Column => ({
        key: `score${i}`,
        label,
        width: scorers.length > 3 ? '64px' : 'minmax(64px, 0.5fr)',
        isText: this.rows.every(row => Number.isNaN(row.values[i])),
        from: i ? 820 : 620,
        text: row => row.scores[i] ?? '',
        note: row => row.scores[i] ?? ''
      })),
      text('outcome', trans.__('Outcome'), '92px', 0),
      has(hasError) && text('error', trans.__('Error'), 'minmax(60px, 1fr)', 720),
      has(row => row.limit !== '') && text('limit', trans.__('Limit'), '64px', 820),
      {
        key: 'tokens',
        label: trans.__('Tokens'),
        width: '72px',
        isText: false,
        from: 680,
        text: row => countText(row.tokens),
        note: row => (row.scorerTokens > 0 ? trans.__('%1 of them by scorers', countText(row.scorerTokens)) : '')
      },
      { key: 'seconds', label: trans.__('Time'), width: '72px', isText: false, from: 680, text: row => secondsText(row.seconds) }
    ];
    return columns.filter(column => column !== false);
  }

  private createHead(): HTMLElement {
    const heads = this.columns.map(column => {
      const head = cellOf(column, 'columnheader');
      head.append(linkButton(column.label, () => this.sortBy(column), this.trans.__('Sort by this column')));
      this.heads.set(column.key, head);
      return head;
    });
    return element('div', 'nbtools-sessions-row', ...heads);
  }

  private styleText(): string {
    const widths = [...new Set(this.columns.map(({ from }) => from))].sort((a, b) => a - b);
    const grids = widths.map(width => {
      const tracks = this.columns.filter(({ from }) => from <= width).map(column => column.width);
      return `@container (min-width: ${width}px) { .${this.scope} .nbtools-sessions-row { grid-template-columns: ${tracks.join(' ')}; } }`;
    });
    const hidden = this.columns
      .filter(({ from }) => from > 0)
      .map(({ key, from }) => `@container (max-width: ${from - 0.01}px) { .${this.scope} .nbtools-samples-${key} { display: none; } }`);
    return [
      `.${this.scope}.${this.scope} { flex: 1 1 45%; min-height: 180px; max-height: 48vh; border: 0; border-radius: 0; border-bottom: 1px solid var(--nbtools-rule); }`,
      `.${this.scope} .nbtools-sessions-table { --nbtools-sessions-row: ${ROW_HEIGHT}px; }`,
      `.${this.scope} .nbtools-sessions-row > span { padding: 0 6px; line-height: 27px; }`,
      `.${this.scope} .nbtools-trace-search { flex: 0 1 220px; }`,
      ...grids,
      ...hidden
    ].join('\n');
  }

  private sortBy({ key, isText }: Column): void {
    const { sort, descending } = this.filter;
    this.change({ sort: key, descending: sort === key ? !descending : !isText });
  }

  private change(change: Partial<SampleFilter>): void {
    this.filter = { ...this.filter, ...change };
    this.show();
  }

  private show(keepScroll = false): void {
    const { trans, filter, table, rows } = this;
    const active = table.keyAt(table.active);
    const keys = listedSamples(rows, filter);
    table.show(keys, keepScroll);
    table.active = active === null ? null : table.rowOf(active);
    table.node.hidden = keys.length === 0;
    setText(this.message, keys.length ? '' : trans.__('No sample matches.'));
    const all = trans._n('%1 sample', '%2 samples', this.reply.total, countText(this.reply.total));
    const listed = keys.length === this.reply.total ? all : trans.__('%1 of %2', countText(keys.length), all);
    const rest = rows.length < this.reply.total ? trans.__('only the first %1 are here', countText(rows.length)) : '';
    setText(this.status, [listed, rest].filter(Boolean).join(' · '));
    this.drawChips();
    for (const [key, head] of this.heads) {
      key === filter.sort
        ? head.setAttribute('aria-sort', filter.descending ? 'descending' : 'ascending')
        : head.removeAttribute('aria-sort');
    }
  }

  private drawChips(): void {
    const { trans } = this;
    const incorrect = this.rows.filter(isIncorrect).length;
    const errors = this.rows.filter(hasError).length;
    const chips = [
      this.chip('incorrect', trans.__('incorrect'), incorrect, trans.__('Samples that a scorer calls incorrect')),
      this.chip('errors', trans.__('errors'), errors, trans.__('Samples that ended with an error'))
    ];
    const focused = this.chips.querySelector<HTMLElement>(':focus')?.dataset['only'];
    this.chips.replaceChildren(...chips);
    chips.find(({ dataset }) => focused && dataset['only'] === focused)?.focus();
  }

  private chip(only: 'incorrect' | 'errors', label: string, size: number, title: string): HTMLButtonElement {
    const isChosen = this.filter.only === only;
    const chip = element('button', 'nbtools-trace-chip', label, ' ', element('span', '', countText(size)));
    chip.type = 'button';
    chip.title = title;
    chip.dataset['only'] = only;
    chip.disabled = size === 0 && !isChosen;
    chip.setAttribute('aria-pressed', String(isChosen));
    chip.addEventListener('click', () => this.change({ only: isChosen ? '' : only }));
    return chip;
  }

  private onClick(index: number, event: MouseEvent): void {
    this.table.node.focus({ preventScroll: true });
    this.select(index);
    event.detail > 1 && this.goToSteps();
  }

  /** Makes a row the active one, and shows its sample's texts. */
  private select(index: number): void {
    const sample = this.table.keyAt(index);
    if (sample !== null) {
      this.opened = sample;
      this.table.activate(index);
      window.clearTimeout(this.loadTimer);
      this.loadTimer = window.setTimeout(() => void this.load(sample), SELECT_DELAY);
    }
  }

  private async load(sample: number): Promise<void> {
    const opened = await this.events.load(sample).catch(failureMessage);
    sample === this.opened && this.node.isConnected && this.events.show(opened);
  }

  private goToSteps(): void {
    const line = this.rows[this.table.keyAt(this.table.active) ?? -1]?.line ?? NaN;
    Number.isNaN(line) || this.events.goToLine(line);
  }

  /** Handles a key that was pressed in the explorer, before Jupyter, which has shortcuts of one letter. */
  onKey(event: KeyboardEvent, target: Element): void {
    const { key } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || key === 'Tab') {
      return;
    }
    event.stopImmediatePropagation();
    if (target === this.search ? this.onSearchKey(key) : this.onTableKey(key, target)) {
      event.preventDefault();
    }
  }

  private onSearchKey(key: string): boolean {
    if (key === 'ArrowDown' || key === 'Enter') {
      this.focus();
    } else if (key === 'Escape' && this.search.value) {
      this.search.value = '';
      this.change({ text: '' });
    } else if (key === 'Escape') {
      this.focus();
    } else {
      return false;
    }
    return true;
  }

  private onTableKey(key: string, target: Element): boolean {
    const isInTable = target === this.table.node;
    if (key === 'Escape') {
      this.node.contains(target) ? this.events.close() : this.table.node.focus();
    } else if (key === '/' && !target.matches('input, textarea, select')) {
      this.search.focus();
      this.search.select();
    } else if (!isInTable) {
      return false;
    } else if (key === 'Enter') {
      this.goToSteps();
    } else if (this.table.onKey(key)) {
      this.table.active === null || this.select(this.table.active);
    } else {
      return key === ' ';
    }
    return true;
  }
}

/** A row of the table.  Its nodes are reused for other samples. */
class SampleRowView implements TableRow {
  readonly node = element('div', 'nbtools-sessions-row');
  private readonly cells: readonly (readonly [Column, HTMLElement])[];
  private drawn: SampleRow | null = null;

  constructor(columns: readonly Column[]) {
    this.cells = columns.map(column => [column, cellOf(column, 'gridcell')]);
    this.node.append(...this.cells.map(([, cell]) => cell));
  }

  update(row: SampleRow, isOpened: boolean): void {
    this.node.setAttribute('aria-selected', String(isOpened));
    if (row === this.drawn) {
      return;
    }
    this.drawn = row;
    for (const [column, cell] of this.cells) {
      setText(cell, column.text(row));
      cell.title = column.note?.(row) ?? '';
    }
    this.node.querySelector('.nbtools-samples-outcome')?.classList.toggle('nbtools-sessions-bad', isIncorrect(row) || hasError(row));
  }
}

function cellOf({ key, isText }: Column, role: string): HTMLElement {
  const cell = element('span', `nbtools-samples-${key}${isText ? ' nbtools-sessions-text' : ''}`);
  cell.setAttribute('role', role);
  return cell;
}

function countText(count: number): string {
  return Number.isNaN(count) ? '' : count.toLocaleString('en-US');
}

function secondsText(seconds: number): string {
  return Number.isNaN(seconds) ? '' : `${seconds.toLocaleString(undefined, { maximumFractionDigits: seconds < 10 ? 1 : 0 })} s`;
}
