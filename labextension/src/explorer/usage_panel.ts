import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton } from '../shared/element.js';
import type { TraceFilter } from './filter.js';
import type { TraceUsage, UsageRow, UsageTable } from './model.js';

export interface UsageEvents {
  /** Replaces the filter by this one. */
  filter(change: Partial<TraceFilter>): void;
  goToLine(line: number): void;
  /** Loads the tables again, with costs by price lists. */
  loadPrices(): void;
}

/** The tables of tokens, money, context and time.  A name is a button where its steps can be listed. */
export class UsagePanelView {
  readonly node = element('div', 'nbtools-trace-usage');

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: UsageEvents,
    label = trans.__('Usage')
  ) {
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', label);
    this.node.hidden = true;
  }

  update(usage: TraceUsage): void {
    const { trans } = this;
    const prices = linkButton(trans.__('Show prices'), () => this.events.loadPrices(), trans.__('Computes the cost from price lists'));
    const tables = usage.tables.map((table, i) => this.table(table, i === 0 && !usage.priced ? prices : null));
    this.node.replaceChildren(...(tables.length ? tables : [trans.__('This log records neither tokens nor times.')]));
  }

  showText(text: string): void {
    this.node.replaceChildren(text);
  }

  private table({ title, columns, rows, note, hints, mark, mark_hint: markHint }: UsageTable, action: HTMLElement | null): HTMLElement {
    const heads = columns.map((column, i) => (column ? withHint(cell('th', column, 'col'), hints[i]) : element('td')));
    const head = element('tr', '', ...heads);
    const caption = element('caption', '', title);
    if (mark) {
      const sign = withHint(element('span', 'nbtools-trace-proven', mark), markHint);
      sign.tabIndex = 0;
      sign.setAttribute('role', 'note');
      caption.append(' ', sign);
    }
    const table = element('table', '', caption, element('thead', '', head), element('tbody', '', ...rows.map(row => this.row(row))));
    const notes = note ? [element('p', '', note)] : [];
    return element('section', '', table, ...notes, ...(action ? [action] : []));
  }

  private row(row: UsageRow): HTMLElement {
    const [name = '', ...values] = row.cells;
    const change = filterOf(row);
    const act = row.line === null ? change && (() => this.events.filter(change)) : () => this.events.goToLine(row.line!);
    const label = act
      ? linkButton(name, act, row.line === null ? this.trans.__('List these steps') : this.trans.__('Go to this step'))
      : name;
    const head = cell('th', label, 'row');
    head.style.setProperty('--nbtools-share', `${row.share}%`);
    return element('tr', '', head, ...values.map((value, i) => withHint(element('td', '', value), row.hints[i + 1])));
  }
}

/** Says more about a node on hover, and to screen readers. */
function withHint(node: HTMLElement, hint = ''): HTMLElement {
  if (hint) {
    node.title = hint;
    node.setAttribute('aria-description', hint);
  }
  return node;
}

function cell(tag: 'th', content: HTMLElement | string, scope: string): HTMLElement {
  const node = element(tag, '', content);
  node.setAttribute('scope', scope);
  return node;
}

/** Returns the change of the filter that lists a row's steps; null if there is none. */
function filterOf({ chip, text }: UsageRow): Partial<TraceFilter> | null {
  return chip ? { chips: [chip] } : text ? { text } : null;
}
