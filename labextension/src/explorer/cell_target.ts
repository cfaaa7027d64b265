import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { type INotebookTracker, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';
import { element } from '../shared/element.js';
import { insertCell } from './insert_cell.js';

const LOAD = '%load_ext nbtools';

/** Adds cells from a log's tab to a notebook that the person chooses: the current one, or a new one beside the log. */
export class CellTarget {
  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly notebooks: INotebookTracker | null,
    private readonly trans: TranslationBundle
  ) {}

  async add(log: string, source: string, run: boolean): Promise<void> {
    const { trans } = this;
    const panel = this.notebooks?.currentWidget ?? null;
    const existing = panel && [Dialog.okButton({ label: trans.__('Add to %1', panel.title.label) })];
    const { button } = await showDialog({
      title: run ? trans.__('Run this in which notebook?') : trans.__('Add this to which notebook?'),
      body: new Widget({ node: element('pre', 'nbtools-form-source', source) }),
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: trans.__('New Notebook') }), ...(existing ?? [])],
      defaultButton: existing ? 2 : 1
    });
    if (!button.accept) {
      return;
    }
    const isNew = button.label === trans.__('New Notebook');
    await (isNew || panel === null ? this.addToNew(log, source, run) : this.addTo(panel, source, run));
  }

  private async addTo(panel: NotebookPanel, source: string, run: boolean): Promise<void> {
    this.app.shell.activateById(panel.id);
    const { content } = panel;
    const loads = content.widgets.some(({ model }) => model.sharedModel.getSource().includes(LOAD));
    await insertCell(panel, content.activeCellIndex, loads ? source : `${LOAD}\n${source}`, run);
  }

  /** Writes a notebook with a free name beside the log and opens it.  Notebook 7 opens it in another page, where the person runs it. */
  private async addToNew(log: string, source: string, run: boolean): Promise<void> {
    const { contents } = this.app.serviceManager;
    const { path } = await contents.newUntitled({ path: log.slice(0, log.lastIndexOf('/') + 1), type: 'notebook' });
    const cells = [LOAD, source].map(text => ({
      cell_type: 'code',
      id: UUID.uuid4(),
      metadata: { trusted: true },
      execution_count: null,
      outputs: [],
      source: text
    }));
    const { specs } = this.app.serviceManager.kernelspecs;
    const kernelspec = { name: specs?.default ?? 'python3', display_name: specs?.kernelspecs[specs.default]?.display_name ?? 'Python 3' };
    const content = { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells };
    await contents.save(path, { type: 'notebook', format: 'json', content });
    const panel: unknown = await this.app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
    if (run && panel instanceof NotebookPanel) {
      await Promise.all([panel.context.ready, panel.sessionContext.ready]);
      await NotebookActions.runAll(panel.content, panel.sessionContext);
    }
  }
}
