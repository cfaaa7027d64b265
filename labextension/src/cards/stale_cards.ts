import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { JSONExt, type JSONObject, type ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { element } from '../shared/element.js';
import { hasComms } from '../live_cells/busy_kernel.js';
import { cardsOf } from '../live_cells/card_methods.js';
import { ENDING_STATUSES, type Kernel } from '../live_cells/kernel_channel.js';
import { AGENT_MIME } from '../agent/model.js';
import { CHANNEL_TARGET } from '../shared/methods.js';
import { GROUP_MIME, MIME, type Card } from './model.js';

const WIDGET_MIME = 'application/vnd.jupyter.widget-view+json';
const WIDGET_TARGET = 'jupyter.widget';
/** States of an unfinished call. */
const UNFINISHED: readonly unknown[] = ['validating', 'scheduled', 'awaiting_approval', 'executing'] satisfies Card['state'][];
/** Milliseconds in which a kernel that is not executing a cell must answer. */
const REPLY_TIMEOUT = 5000;
/** Number of finished cards, the last ones of a notebook, whose state is requested after the page was not connected. */
const MAX_FINISHED = 100;

interface Outputs {
  readonly length: number;
  get(index: number): IOutputModel;
}

/**
 * Updates cards that JupyterLab no longer updates: after a page reload, or after the kernel has ended.
 *
 * JupyterLab updates an output only on the page that ran its cell.  The kernel's messages reach every page, so this class applies them to
 * the cards with the same id, and requests the updates that were missed during a reload or a lost connection, until each card is finished.
 * An unfinished card whose call the kernel does not know gets the status *Unknown*.
 */
export class StaleCards {
  /** The ids of the cards that were requested and have not been updated since. */
  private readonly awaited = new Set<unknown>();
  /** The number of the last request of each notebook; earlier ones end. */
  private readonly requests = new WeakMap<NotebookPanel, number>();

  constructor(
    notebooks: INotebookTracker,
    private readonly trans: TranslationBundle
  ) {
    notebooks.widgetAdded.connect((_, panel) => void this.watch(panel));
  }

  private async watch(panel: NotebookPanel): Promise<void> {
    const session = panel.sessionContext;
    session.statusChanged.connect(
      (_, status) => ENDING_STATUSES.includes(status) && unfinishedCards(panel).forEach(output => this.markUnknown(output))
    );
    const request = () => void Promise.all([this.requestMissedUpdates(panel), this.requestFinished(panel)]);
    session.kernelChanged.connect(request);
    session.connectionStatusChanged.connect((_, status) => status === 'connected' && request());
    session.iopubMessage.connect((_, { header, content }) => {
      if (header.msg_type === 'update_display_data') {
        const { data } = content as { data: ReadonlyPartialJSONObject };
        this.awaited.delete(cardId(data));
        updateCards(panel, data, this.trans);
      }
    });
    await panel.context.ready;
    await session.ready;
    request();
  }

  /** Requests finished cards that can change, such as by an undo that this page has missed.  A kernel without them sends nothing. */
  private async requestFinished(panel: NotebookPanel): Promise<void> {
    const cards = outputsOf(panel).map(({ data }) => data[MIME] as JSONObject | undefined);
    const ids = cards.flatMap(card => ((card?.['deeds'] as unknown[] | undefined)?.length ? [String(card!['id'])] : []));
    const kernel = panel.sessionContext.session?.kernel;
    if (ids.length === 0 || !kernel?.handleComms || kernel.connectionStatus !== 'connected') {
      return;
    }
    const isLoaded = await hasComms(kernel, CHANNEL_TARGET).catch(() => false); // the kernel has restarted or ended
    if (isLoaded && !kernel.isDisposed) {
      await show(kernel, ids.slice(-MAX_FINISHED));
    }
  }

  /** Requests the current state of unfinished cards without a live widget, again and again while the kernel updates them. */
  private async requestMissedUpdates(panel: NotebookPanel): Promise<void> {
    const request = (this.requests.get(panel) ?? 0) + 1;
    this.requests.set(panel, request);
    const isLast = () => this.requests.get(panel) === request && !panel.isDisposed;
    while (isLast() && unfinishedCards(panel).length > 0) {
      const kernel = panel.sessionContext.session?.kernel ?? null;
      const widgets = kernel ? await widgetsOf(kernel) : [];
      const orphaned = unfinishedCards(panel).filter(output => !widgets.includes(widgetModelId(output)));
      if (!isLast() || orphaned.length === 0) {
        return;
      }
      await this.requestUpdates(kernel?.isDisposed ? null : kernel, orphaned, isLast);
    }
  }

  /** Requests the current state of cards.  Those that the kernel does not update are marked as unknown. */
  private async requestUpdates(kernel: Kernel | null, outputs: readonly IOutputModel[], isLast: () => boolean): Promise<void> {
    const cards = outputs.map(output => ({ output, card: output.data[MIME], id: cardId(output.data) }));
    cards.forEach(({ id }) => this.awaited.add(id));
    if (kernel) {
      await show(
        kernel,
        cards.map(({ id }) => String(id))
      );
      await delay(REPLY_TIMEOUT);
    }
    if (isLast()) {
      const silent = cards.filter(({ output, card, id }) => this.awaited.delete(id) && isEqual(output.data[MIME], card));
      silent.forEach(({ output }) => this.markUnknown(output));
    }
  }

  /** Sets the status *Unknown* in the card and in its HTML and plain text. */
  private markUnknown(output: IOutputModel): void {
    const { [WIDGET_MIME]: _, [MIME]: value, ...rest } = output.data;
    const { trans } = this;
    const card = value as JSONObject;
    const status = trans.__('Unknown');
    const record =
      card['state'] === 'awaiting_approval'
        ? trans.__(
            '? The result is unknown: the kernel stopped updating this card before an answer was recorded · check what has changed, then run the cell again'
          )
        : trans.__(
            '? The result is unknown: the kernel stopped updating this card while the call was running · check what has changed, then run the cell again'
          );
    const notice = `${String(card['tool'])} ${String(card['subject'])} · ${status} · ${record}`;
    const html = element('p', '', notice).outerHTML;
    const summary = element('summary', '', trans.__('Last saved state')).outerHTML;
    output.setData({
      data: {
        ...rest,
        [MIME]: { ...card, state: 'cancelled', status, record, cancellable: false },
        'text/html': `${html}<details>${summary}${joinLines(rest['text/html'])}</details>`,
        'text/plain': `${notice}\n${joinLines(rest['text/plain'])}`
      }
    });
  }
}

/** Returns the ids of the kernel's widgets.  A kernel that does not answer although it is idle is asked again: the request was lost. */
async function widgetsOf(kernel: Kernel): Promise<string[]> {
  for (;;) {
    const answer = kernel.requestCommInfo({ target_name: WIDGET_TARGET }).then(
      ({ content }) => (content.status === 'ok' ? Object.keys(content.comms) : []),
      () => []
    );
    do {
      const widgets = await Promise.race([answer, delay(REPLY_TIMEOUT)]);
      if (widgets || kernel.isDisposed) {
        return widgets ?? [];
      }
    } while (kernel.status !== 'idle');
  }
}

/** Requests the current cards of calls, which come as updates of their displays. */
async function show(kernel: Kernel, calls: readonly string[]): Promise<void> {
  await cardsOf(kernel)
    .request('cards.show', { calls })
    .catch(() => undefined); // the kernel has no nbtools, or has ended
}

function delay(milliseconds: number): Promise<null> {
  return new Promise(resolve => window.setTimeout(resolve, milliseconds, null));
}

/** Applies a display update to the cards with its id, or to the head of its run, unless JupyterLab has already applied it. */
function updateCards(panel: NotebookPanel, data: ReadonlyPartialJSONObject, trans: TranslationBundle): void {
  const head = headOf(data);
  const id = cardId(data) ?? head?.['run'];
  const stale = (output: IOutputModel) => [MIME, WIDGET_MIME, AGENT_MIME, GROUP_MIME].some(type => !isEqual(output.data[type], data[type]));
  if (id) {
    outputsOf(panel)
      .filter(output => (cardId(output.data) ?? headOf(output.data)?.['run']) === id && stale(output))
      .forEach(output => output.setData({ data: head ? { ...data, [AGENT_MIME]: { part: unfollowed(head, trans) } } : data }));
  }
}

/** Returns the head of a run with a note that the run's later texts and calls are not added to this page. */
function unfollowed(head: JSONObject, trans: TranslationBundle): JSONObject {
  return { ...head, figures: [trans.__('Run %agent to see its state'), ...((head['figures'] ?? []) as string[])] };
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSONExt.deepEqual((a ?? null) as JSONObject, (b ?? null) as JSONObject);
}

/** Returns the outputs of a notebook that are cards of unfinished calls. */
function unfinishedCards(panel: NotebookPanel): IOutputModel[] {
  return outputsOf(panel).filter(({ data }) => UNFINISHED.includes((data[MIME] as JSONObject | undefined)?.['state']));
}

function outputsOf(panel: NotebookPanel): IOutputModel[] {
  const cells = [...(panel.content.model?.cells ?? [])];
  return cells.flatMap(cell => ('outputs' in cell ? outputList(cell.outputs as Outputs) : []));
}

function outputList(outputs: Outputs): IOutputModel[] {
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i));
}

/** Returns the id of the card in an output, or of the group of cards. */
function cardId(data: ReadonlyPartialJSONObject): unknown {
  return ((data[MIME] ?? data[GROUP_MIME]) as JSONObject | undefined)?.['id'];
}

/** Returns the head of a run, if the output is one. */
function headOf(data: ReadonlyPartialJSONObject): JSONObject | undefined {
  const part = (data[AGENT_MIME] as JSONObject | undefined)?.['part'] as JSONObject | undefined;
  return part?.['type'] === 'head' ? part : undefined;
}

/** Returns the id of the widget in an output; empty if it has none. */
function widgetModelId({ data }: IOutputModel): string {
  return String((data[WIDGET_MIME] as JSONObject | undefined)?.['model_id'] ?? '');
}

/** Joins a notebook text, which is stored as a string or as a list of lines. */
function joinLines(value: unknown): string {
  return Array.isArray(value) ? value.join('') : String(value ?? '');
}
