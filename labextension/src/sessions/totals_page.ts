import type { TranslationBundle } from '@jupyterlab/translation';
import type { Client } from '../shared/channel.js';
import { element, keepKeys, linkButton } from '../shared/element.js';
import type { SESSION_METHODS } from '../explorer/model.js';
import type { ListFilter } from './columns.js';
import { type DayBar, dayBars } from './day_bars.js';
import type { SessionTotal, SessionTotals } from './model.js';
import { betweenDays, type Period } from './period.js';
import { countText, dollars, shortNumber } from './session_rows.js';
import { type Totals, totalsText } from './totals_line.js';

/** What is added up, and what becomes of the list when a sum is chosen. */
export interface TotalsRequest {
  readonly explorer: string;
  /** The keys of the sessions. */
  readonly keys: readonly number[];
  readonly period: Period;
  /** The number of those that are not read as a whole. */
  readonly unread: number;
  /** Narrows the list. */
  filter(change: Partial<ListFilter>): void;
}

/** The services that the page uses. */
export interface TotalsContext {
  readonly trans: TranslationBundle;
  readonly client: Pick<Client<keyof typeof SESSION_METHODS>, 'request'>;
  /** Returns why a request has no result; rethrows any other error. */
  problemOf(error: unknown): string;
  /** Goes back to the list. */
  back(): void;
}

type Measure = 'cost' | 'tokens' | 'calls' | 'failed';
type Table = 'day' | 'project' | 'model' | 'agent';

const SVG = 'http://www.w3.org/2000/svg';
/** Rows of a table that are shown at first. */
const MOST_ROWS = 12;

/** The sums over sessions by day, project, model and agent: bars by day, and a table for each.  It must be inside `.nbtools-rendered`. */
export class TotalsPage {
  readonly node = element('article', 'nbtools-totals');
  private readonly title: HTMLElement;
  private readonly body = element('div');
  private readonly unfolded = new Set<Table>();
  private totals: SessionTotals | null = null;
  private measure: Measure = 'cost';
  private readonly releaseKeys = keepKeys(this.node);

  constructor(
    private readonly context: TotalsContext,
    private readonly request: TotalsRequest
  ) {
    const { trans } = context;
    this.title = element('p', 'nbtools-totals-caption', trans._n('%1 session', '%1 sessions', request.keys.length));
    this.title.tabIndex = -1;
    this.node.setAttribute('aria-label', trans.__('Totals'));
    this.body.setAttribute('role', 'status');
    this.body.textContent = trans.__('Adding up…');
    this.node.append(this.title, this.body);
    void this.load();
  }

  focus(): void {
    this.title.focus();
  }

  dispose(): void {
    this.releaseKeys();
  }

  private async load(): Promise<void> {
    const { client, problemOf } = this.context;
    const { explorer, keys, period } = this.request;
    try {
      this.totals = await client.request('sessions.totals', { explorer, keys, ...period });
      this.measure = this.totals.agent.some(({ cost }) => cost) ? 'cost' : 'tokens';
      this.body.removeAttribute('role');
      this.draw(this.totals);
    } catch (error) {
      this.body.textContent = problemOf(error);
    }
  }

  private draw(totals: SessionTotals): void {
    const { trans } = this.context;
    this.title.textContent = this.caption(totals.agent);
    const days = { ...totals, day: [...totals.day].reverse() };
    const tables = element(
      'div',
      'nbtools-trace-usage',
      this.table('project', trans.__('By project'), days.project),
      this.table('model', trans.__('By model'), days.model),
      this.table('agent', trans.__('By agent'), days.agent),
      this.table('day', trans.__('By day'), days.day)
    );
    this.body.replaceChildren(this.picture(totals.day), tables, element('p', 'nbtools-quiet', this.note(totals)));
  }

  /** The bars by day, with the choice of what they show. */
  private picture(days: readonly SessionTotal[]): HTMLElement {
    const { trans } = this.context;
    const menu = element('select', 'nbtools-trace-menu');
    menu.setAttribute('aria-label', trans.__('Shown in the bars'));
    menu.append(
      new Option(trans.__('Cost'), 'cost'),
      new Option(trans.__('Tokens'), 'tokens'),
      new Option(trans.__('Calls'), 'calls'),
      new Option(trans.__('Failed calls'), 'failed')
    );
    menu.value = this.measure;
    menu.addEventListener('change', () => {
      this.measure = menu.value as Measure;
      this.draw(this.totals!);
      this.node.querySelector('select')?.focus();
    });
    const bars = dayBars(days, total => total[this.measure] ?? 0);
    const highest = bars.reduce<DayBar | null>((best, bar) => (best && best.value >= bar.value ? best : bar), null);
    if (!highest) {
      return element('figure', '', menu);
    }
    const label = trans.__(
      'Bars from %1 to %2; the highest is %3 on %4. The table by day has all values.',
      bars[0]!.from,
      bars.at(-1)!.to,
      this.text(highest.value),
      daysOf(highest)
    );
    const axis = element(
      'div',
      'nbtools-totals-axis',
      element('span', '', bars[0]!.from),
      element('span', '', trans.__('highest: %1 on %2', this.text(highest.value), daysOf(highest))),
      element('span', '', bars.at(-1)!.to)
    );
    return element('figure', '', menu, this.svg(bars, highest.value, label), axis);
  }

  private svg(bars: readonly DayBar[], most: number, label: string): HTMLElement {
    const svg = document.createElementNS(SVG, 'svg');
    const height = 100;
    svg.setAttribute('viewBox', `0 0 ${bars.length} ${height}`);
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', label);
    bars.forEach((bar, i) => {
      const size = most > 0 ? Math.max((bar.value / most) * height, bar.value ? 1 : 0) : 0;
      const group = document.createElementNS(SVG, 'g');
      const title = document.createElementNS(SVG, 'title');
      title.textContent = `${daysOf(bar)}: ${this.text(bar.value)}`;
      // The whole height of a day can be clicked.
      group.append(title, rect(i, 0, height, 'nbtools-totals-space'), rect(i + 0.1, height - size, size, 'nbtools-totals-bar', 0.8));
      group.addEventListener('click', () => this.choose(betweenDays(bar.from, bar.to)));
      svg.append(group);
    });
    const box = element('div', 'nbtools-totals-bars');
    box.append(svg);
    return box;
  }

  private table(key: Table, title: string, totals: readonly SessionTotal[]): HTMLElement {
    const { trans } = this.context;
    const names = [trans.__('Sessions'), trans.__('Calls'), trans.__('Failed'), trans.__('Tokens'), trans.__('Cost')];
    const isShown = names.map((_, i) => totals.some(total => valuesOf(total)[i] !== ''));
    const head = element('tr', '', element('td'), ...names.filter((_, i) => isShown[i]).map(name => cell(name, 'col')));
    const most = totals.reduce((largest, total) => Math.max(largest, total[this.measure] ?? 0), 0);
    const shown = this.unfolded.has(key) ? totals : totals.slice(0, MOST_ROWS);
    const rows = shown.map(total => this.row(key, total, most, isShown));
    const more = linkButton(trans.__('all %1', countText(totals.length)), () => {
      this.unfolded.add(key);
      this.draw(this.totals!);
      this.focus(); // the link is gone
    });
    const table = element('table', '', element('caption', '', title), element('thead', '', head), element('tbody', '', ...rows));
    return element('section', '', table, ...(shown.length < totals.length ? [more] : []));
  }

  private row(key: Table, total: SessionTotal, most: number, isShown: readonly boolean[]): HTMLElement {
    const { trans } = this.context;
    const button = linkButton(total.label, () => this.choose(changeOf(key, total)), trans.__('List these sessions'));
    const head = cell(total.name ? button : total.label, 'row');
    head.style.setProperty('--nbtools-share', `${most ? (100 * (total[this.measure] ?? 0)) / most : 0}%`);
    const cells = valuesOf(total).map(value => element('td', '', value));
    if (total.unpriced) {
      cells.at(-1)!.title = trans._n('%1 request has no price', '%1 requests have no price', total.unpriced);
    }
    return element('tr', '', head, ...cells.filter((_, i) => isShown[i]));
  }

  /** The sums of the tables: each session is of one agent. */
  private caption(agents: readonly SessionTotal[]): string {
    const { trans } = this.context;
    const { keys, unread } = this.request;
    const sum = (value: (total: SessionTotal) => number | null) => agents.reduce((all, total) => all + (value(total) ?? 0), 0);
    const sessions = sum(total => total.sessions);
    const totals: Totals = {
      sessions,
      read: Math.max(sessions - unread, 0),
      calls: sum(({ calls }) => calls),
      failed: sum(({ failed }) => failed),
      tokens: sum(({ tokens }) => tokens),
      cost: sum(({ cost }) => cost),
      isLowerBound: agents.some(total => total.lower_bound || (total.cost === null && total.tokens > 0))
    };
    const others = keys.length - sessions;
    const idle = trans._n('%1 other listed session did nothing in this time', '%1 other listed sessions did nothing in this time', others);
    return [totalsText(totals, trans), others > 0 ? idle : ''].filter(Boolean).join(' · ');
  }

  private note({ prices }: SessionTotals): string {
    const { trans } = this.context;
    const { since, until } = this.request.period;
    const made = trans.__('Calls and requests count on the day on which they were made.');
    const days =
      since || until
        ? `${made} ${trans.__('What sessions did at other times is not counted here; the list counts whole sessions.')}`
        : made;
    const money = prices
      ? trans.__(
          'Costs are by the prices of %1 on the days of the requests; ≥ where some have no price or no true number of output tokens.',
          prices
        )
      : trans.__('Costs are those that logs record: no price lists are installed (pip install "nbtools-agent[prices]").');
    return `${days} ${money}`;
  }

  private text(value: number): string {
    return this.measure === 'cost' ? dollars(value) : shortNumber(value);
  }

  private choose(change: Partial<ListFilter>): void {
    this.context.back();
    this.request.filter(change);
  }
}

/** Returns the change of the list's filter that lists the sessions of a sum. */
function changeOf(key: Table, { name, label, keys }: SessionTotal): Partial<ListFilter> {
  switch (key) {
    case 'day':
      return betweenDays(name, name);
    case 'project':
      return { project: '', repository: name };
    case 'agent':
      return { agent: name };
    case 'model':
      return { only: { label, keys: new Set(keys) } };
  }
}

/** The texts of a row. */
function valuesOf(total: SessionTotal): string[] {
  return [
    countText(total.sessions),
    countText(total.calls ?? NaN),
    countText(total.failed ?? NaN),
    shortNumber(total.tokens),
    costText(total)
  ];
}

function costText({ cost, lower_bound }: SessionTotal): string {
  return cost === null ? '' : `${lower_bound ? '≥ ' : ''}${dollars(cost)}`;
}

function daysOf({ from, to }: DayBar): string {
  return from === to ? from : `${from} – ${to}`;
}

function cell(content: HTMLElement | string, scope: string): HTMLElement {
  const node = element('th', '', content);
  node.setAttribute('scope', scope);
  return node;
}

function rect(x: number, y: number, height: number, className: string, width = 1): SVGElement {
  const node = document.createElementNS(SVG, 'rect');
  Object.entries({ x, y, width, height, class: className }).forEach(([name, value]) => node.setAttribute(name, String(value)));
  return node;
}
