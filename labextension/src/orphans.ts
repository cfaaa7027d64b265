import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { JSONExt, type JSONObject, type ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { element } from './element.js';
import { ENDING, Replies, type Kernel } from './replies.js';
import { MIME, type Card } from './wire.js';

const WIDGET = 'application/vnd.jupyter.widget-view+json';
const WIDGETS = 'jupyter.widget';
/** States of a call that is not over. */
const OPEN: readonly unknown[] = ['validating', 'scheduled', 'awaiting_approval', 'executing'] satisfies Card['state'][];
/** Milliseconds in which the kernel must have answered for a call that it knows. */
const SILENCE = 5000;

interface Outputs {
  readonly length: number;
  get(index: number): IOutputModel;
}

/**
 * Keeps cards true that JupyterLab no longer updates: after the page was loaded again, or the kernel has ended.
 *
 * JupyterLab updates an output only on the page that ran its cell.  The kernel's updates reach every page, so they are found by the card's
 * id, and the kernel is asked for those that were missed while the page was loaded.  A card of which the kernel knows nothing, open as it
 * was saved, says that what became of it is unknown.
 */
export class Orphans {
  private readonly replies = new Replies();

  constructor(
    notebooks: INotebookTracker,
    private readonly trans: TranslationBundle
  ) {
    notebooks.widgetAdded.connect((_, panel) => void this.watch(panel));
  }

  private async watch(panel: NotebookPanel): Promise<void> {
    const session = panel.sessionContext;
    session.statusChanged.connect((_, status) => ENDING.includes(status) && openCards(panel).forEach(output => this.release(output)));
    session.kernelChanged.connect(() => void this.look(panel));
    session.iopubMessage.connect((_, { header, content }) => {
      if (header.msg_type === 'update_display_data') {
        update(panel, (content as { data: ReadonlyPartialJSONObject }).data);
      }
    });
    await panel.context.ready;
    await session.ready;
    await this.look(panel);
  }

  /** Asks the kernel for the open cards that no question's widget stands for, and releases those that it does not know. */
  private async look(panel: NotebookPanel): Promise<void> {
    const found = openCards(panel).map(output => ({ output, model: modelOf(output), card: output.data[MIME] }));
    if (found.length === 0) {
      return;
    }
    const kernel = panel.sessionContext.session?.kernel;
    const reply = await kernel?.requestCommInfo({ target_name: WIDGETS }).catch(() => null);
    const living = reply?.content.status === 'ok' ? reply.content.comms : {};
    const isAsBefore = ({ output, model, card }: (typeof found)[number]) => modelOf(output) === model && same(output.data[MIME], card);
    const lost = found.filter(({ model }) => !model || !(model in living));
    for (const { output } of kernel ? lost : []) {
      await this.replies.send(kernel as Kernel, { show: String(idOf(output.data)) });
    }
    await new Promise(resolve => window.setTimeout(resolve, kernel && lost.length > 0 ? SILENCE : 0));
    lost.filter(isAsBefore).forEach(({ output }) => this.release(output));
  }

  /** Says in the card, and in what other programs show of it, that nobody here knows how the call ended. */
  private release(output: IOutputModel): void {
    const { [WIDGET]: _, [MIME]: shown, ...rest } = output.data;
    const { trans } = this;
    const card = shown as JSONObject;
    const status = trans.__('Unknown');
    const record =
      card['state'] === 'awaiting_approval'
        ? trans.__('? No answer was recorded here: whether the call was approved, and what it changed, is unknown · check, then run the cell again')
        : trans.__('? No result was recorded here: what the call has done is unknown · check, then run the cell again');
    const notice = `${String(card['tool'])} ${String(card['subject'])} · ${status} · ${record}`;
    const html = element('p', '', notice).outerHTML;
    const asked = element('summary', '', trans.__('As it was saved')).outerHTML;
    output.setData({
      data: {
        ...rest,
        [MIME]: { ...card, state: 'cancelled', status, record, cancellable: false },
        'text/html': `${html}<details>${asked}${textOf(rest['text/html'])}</details>`,
        'text/plain': `${notice}\n${textOf(rest['text/plain'])}`
      }
    });
  }
}

/** Shows what the kernel says of a call where its card stands, unless JupyterLab has done so already. */
function update(panel: NotebookPanel, data: ReadonlyPartialJSONObject): void {
  const id = idOf(data);
  const stale = (output: IOutputModel) => !same(output.data[MIME], data[MIME]) || !same(output.data[WIDGET], data[WIDGET]);
  if (id) {
    outputsOf(panel)
      .filter(output => idOf(output.data) === id && stale(output))
      .forEach(output => output.setData({ data }));
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSONExt.deepEqual((one ?? null) as JSONObject, (other ?? null) as JSONObject);
}

/** The outputs of a notebook that are cards of calls not yet over. */
function openCards(panel: NotebookPanel): IOutputModel[] {
  return outputsOf(panel).filter(({ data }) => OPEN.includes((data[MIME] as JSONObject | undefined)?.['state']));
}

function outputsOf(panel: NotebookPanel): IOutputModel[] {
  const cells = [...(panel.content.model?.cells ?? [])];
  return cells.flatMap(cell => ('outputs' in cell ? listed(cell.outputs as Outputs) : []));
}

function listed(outputs: Outputs): IOutputModel[] {
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i));
}

function idOf(data: ReadonlyPartialJSONObject): unknown {
  return (data[MIME] as JSONObject | undefined)?.['id'];
}

/** The id of a question's widget; empty where the card has no buttons. */
function modelOf({ data }: IOutputModel): string {
  return String((data[WIDGET] as JSONObject | undefined)?.['model_id'] ?? '');
}

/** Notebooks keep a text as one string or as its lines. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join('') : String(value ?? '');
}
