import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import type { ExplorerContext } from './explorer_context.js';
import type { TraceFilter } from './filter.js';
import type { Order } from './log_rows.js';
import type { TraceBar, TraceStrip } from './model.js';
import { failureMessage, type LogRequests } from './requests.js';
import type { StripEvents } from './strip.js';
import { TimelineView } from './timeline.js';
import type { ListedLines, Range } from './timeline_bars.js';
import { UsagePanelView } from './usage_panel.js';
import { UsageStripView } from './usage_strip.js';

type Mode = 'steps' | TraceStrip['mode'];

/** Milliseconds between two requests for the overview that is shown, while the log grows. */
const REFRESH_INTERVAL = 3000;

export interface OverviewEvents extends StripEvents {
  /** Replaces the filter by this one. */
  filter(change: Partial<TraceFilter>): void;
  order(order: TraceFilter['order']): void;
  goToStep(line: number): void;
}

/** The overview of a log: by steps, time or tokens, with its legend, the order of the list, and the tables of usage. */
export class OverviewView {
  /** The strip of bars. */
  readonly node = element('div', 'nbtools-trace-strips');
  readonly bar = element('div', 'nbtools-trace-overview');
  readonly panel: UsagePanelView;
  private readonly timeline: TimelineView;
  private readonly usage: UsageStripView;
  private readonly modes: Map<Mode, HTMLButtonElement>;
  private readonly usageButton: HTMLButtonElement;
  private readonly orders = element('select', 'nbtools-trace-menu');
  private readonly note = element('span', 'nbtools-trace-overview-note');
  private mode: Mode = 'steps';
  private strips = new Map<TraceStrip['mode'], Promise<TraceStrip | null>>();
  private refreshTimer = 0;
  private refreshed = 0;
  /** Whether the tables were asked for with prices. */
  private priced = false;

  constructor(
    private readonly context: ExplorerContext,
    private readonly requests: LogRequests,
    events: OverviewEvents
  ) {
    const { trans } = context;
    this.timeline = new TimelineView(trans, events);
    this.usage = new UsageStripView(trans, events);
    this.panel = new UsagePanelView(trans, {
      filter: events.filter,
      goToLine: events.goToStep,
      loadPrices: () => void this.loadUsage(true)
    });
    const labels: [Mode, string][] = [
      ['steps', trans.__('Steps')],
      ['time', trans.__('Time')],
      ['tokens', trans.__('Tokens')]
    ];
    this.modes = new Map(labels.map(([mode, label]) => [mode, this.button(label, () => void this.choose(mode))]));
    this.usageButton = linkButton(trans.__('Usage'), () => this.toggleUsage(), trans.__('Tokens, money and time by source and file'));
    this.usageButton.setAttribute('aria-expanded', 'false');
    this.orders.append(...(['', 'tokens', 'duration'] as const).map(order => new Option(this.orderLabels(order)[0], order)));
    this.orders.setAttribute('aria-label', trans.__('Order of the steps'));
    this.orders.addEventListener('change', () => events.order(this.orders.value as TraceFilter['order']));
    this.build();
  }

  /** Shows the bars of a log that is another or has grown.  Usage follows at intervals, or `atOnce` where lines have moved. */
  update(bars: readonly TraceBar[], atOnce: boolean): void {
    this.timeline.update(bars);
    this.strips = new Map();
    if (atOnce) {
      this.refresh();
    } else {
      const delay = this.refreshed + REFRESH_INTERVAL - Date.now();
      this.refreshTimer ||= window.setTimeout(() => this.refresh(), Math.max(delay, 0));
    }
  }

  /** Loads the other overviews, so that switching to them needs no request. */
  async prefetch(): Promise<void> {
    const loading = (['time', 'tokens'] as const).map(mode => {
      const strip = this.requests.ask('trace.strip', { mode }).catch(() => null);
      this.strips.set(mode, strip);
      return strip;
    });
    await Promise.all(loading);
  }

  mark(line: number | null, range: Range | null): void {
    this.timeline.mark(line, range);
    this.usage.mark(line, range);
  }

  /** Shows which lines the filter lists; null if there is none. */
  showListed(listed: ListedLines | null): void {
    this.timeline.showListed(listed);
    this.usage.showListed(listed);
  }

  /** Shows the order of the list; what a log does not record cannot be chosen. */
  showOrder(order: TraceFilter['order'], isPossible: (order: Order) => boolean): void {
    for (const option of this.orders.options) {
      const [label, missing] = this.orderLabels(option.value as TraceFilter['order']);
      option.disabled = option.value !== '' && !isPossible(option.value as Order);
      setText(option, option.disabled ? missing : label);
    }
    this.orders.value = order;
    this.orders.classList.toggle('nbtools-trace-chosen', order !== '');
  }

  /** Adds what else stands in the line of the overview. */
  place(status: HTMLElement, buttons: readonly HTMLElement[]): void {
    this.bar.append(...buttons);
    this.usage.legend.parentNode ? this.usage.legend.after(status) : this.bar.append(status);
  }

  onKey(event: KeyboardEvent): boolean {
    return (this.mode === 'steps' ? this.timeline : this.usage).onKey(event);
  }

  dispose(): void {
    window.clearTimeout(this.refreshTimer);
    this.timeline.dispose();
    this.usage.dispose();
  }

  private build(): void {
    const group = element('div', 'nbtools-trace-modes', ...this.modes.values());
    group.setAttribute('role', 'group');
    group.setAttribute('aria-label', this.context.trans.__('Overview'));
    this.note.setAttribute('role', 'status');
    this.node.append(this.timeline.node, this.usage.node);
    this.bar.append(
      ...(this.context.isFile
        ? [this.timeline.legend]
        : [group, this.timeline.legend, this.usage.legend, this.note, this.orders, this.usageButton])
    );
    this.showMode();
  }

  /** Returns the label of an order, and that of one that the log has no amounts for. */
  private orderLabels(order: TraceFilter['order']): readonly [string, string] {
    const { trans } = this.context;
    return {
      '': [trans.__('in order'), ''],
      tokens: [trans.__('most tokens first'), trans.__('most tokens first: not recorded')],
      duration: [trans.__('slowest first'), trans.__('slowest first: no times recorded')]
    }[order] as [string, string];
  }

  private button(label: string, act: () => void): HTMLButtonElement {
    const button = element('button', 'nbtools-trace-mode', label);
    button.type = 'button';
    button.addEventListener('click', act);
    return button;
  }

  /** Shows an overview once it is loaded; a failure leaves the current one. */
  private async choose(mode: Mode): Promise<void> {
    if (mode !== 'steps') {
      setText(this.note, this.context.trans.__('Adding up …'));
      try {
        this.usage.update(await this.strip(mode));
      } catch (error) {
        setText(this.note, failureMessage(error));
        return;
      }
    }
    this.mode = mode;
    setText(this.note, '');
    this.showMode();
  }

  /** Loads an overview; one that was loaded since the log has changed is not loaded again. */
  private async strip(mode: TraceStrip['mode']): Promise<TraceStrip> {
    const { strips } = this; // replaced when the log changes
    const strip = (await strips.get(mode)) ?? (await this.requests.ask('trace.strip', { mode }));
    strips.set(mode, Promise.resolve(strip));
    return strip;
  }

  /** Loads what is shown of usage again. */
  private refresh(): void {
    window.clearTimeout(this.refreshTimer);
    this.refreshTimer = 0;
    this.refreshed = Date.now();
    if (!this.panel.node.hidden && !focusedIn(this.panel.node)) {
      void this.loadUsage(this.priced);
    }
    const { mode } = this;
    if (mode !== 'steps') {
      this.strip(mode).then(
        strip => mode === this.mode && this.usage.update(strip),
        () => undefined // the requests have said why
      );
    }
  }

  private showMode(): void {
    for (const [mode, button] of this.modes) {
      button.setAttribute('aria-pressed', String(mode === this.mode));
    }
    [this.node, this.bar].forEach(node => node.classList.toggle('nbtools-trace-by-usage', this.mode !== 'steps'));
  }

  private toggleUsage(): void {
    const { node } = this.panel;
    node.hidden = !node.hidden;
    this.usageButton.setAttribute('aria-expanded', String(!node.hidden));
    if (!node.hidden) {
      node.hasChildNodes() || this.panel.showText(this.context.trans.__('Adding up …'));
      void this.loadUsage(false);
    }
  }

  private async loadUsage(prices: boolean): Promise<void> {
    this.priced = prices;
    try {
      this.panel.update(await this.requests.ask('trace.usage', { prices }));
    } catch (error) {
      prices ? setText(this.note, failureMessage(error)) : this.panel.showText(failureMessage(error));
    }
  }
}
