import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IOutputModel } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSONObject } from '@lumino/coreutils';
import { ENDING } from './replies.js';
import { MIME } from './wire.js';

const WIDGET = 'application/vnd.jupyter.widget-view+json';
const WIDGETS = 'jupyter.widget';

interface Outputs {
  readonly length: number;
  get(index: number): IOutputModel;
}

/**
 * Lets go of questions that nobody can answer any more: their kernel has restarted, or the notebook was saved while they asked.
 *
 * Their buttons would be an error message of ipywidgets; what was asked stays, as a card that says what to do.
 */
export class Orphans {
  constructor(
    notebooks: INotebookTracker,
    private readonly trans: TranslationBundle
  ) {
    notebooks.widgetAdded.connect((_, panel) => void this.watch(panel));
  }

  private async watch(panel: NotebookPanel): Promise<void> {
    const session = panel.sessionContext;
    session.statusChanged.connect((_, status) => ENDING.includes(status) && questions(panel).forEach(output => this.release(output)));
    session.kernelChanged.connect(() => void this.look(panel));
    await panel.context.ready;
    await session.ready;
    await this.look(panel);
  }

  /** Releases the questions whose widgets the kernel does not have.  They are listed before it is asked: one that comes meanwhile lives. */
  private async look(panel: NotebookPanel): Promise<void> {
    const found = questions(panel).map(output => ({ output, model: modelOf(output) }));
    if (found.length === 0) {
      return;
    }
    const reply = await panel.sessionContext.session?.kernel?.requestCommInfo({ target_name: WIDGETS });
    const living = reply?.content.status === 'ok' ? reply.content.comms : {};
    found.filter(({ output, model }) => modelOf(output) === model && !(model in living)).forEach(({ output }) => this.release(output));
  }

  private release(output: IOutputModel): void {
    const { [WIDGET]: _, [MIME]: card, ...rest } = output.data;
    const status = this.trans.__('Not answered');
    const record = this.trans.__('✕ The kernel ended before anybody answered · nothing has happened, run the cell again');
    output.setData({ data: { ...rest, [MIME]: { ...(card as JSONObject), state: 'cancelled', status, record } } });
  }
}

/** The outputs of a notebook that are questions with buttons. */
function questions(panel: NotebookPanel): IOutputModel[] {
  const cells = [...(panel.content.model?.cells ?? [])];
  const outputs = cells.flatMap(cell => ('outputs' in cell ? listed(cell.outputs as Outputs) : []));
  return outputs.filter(({ data }) => WIDGET in data && MIME in data);
}

function listed(outputs: Outputs): IOutputModel[] {
  return Array.from({ length: outputs.length }, (_, i) => outputs.get(i));
}

function modelOf({ data }: IOutputModel): string {
  return String((data[WIDGET] as JSONObject | undefined)?.['model_id']);
}
