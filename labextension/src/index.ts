import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { addRunRenderer } from './agent/renderer.js';
import { QuestionKeys } from './asking.js';
import { CallCanceller } from './cancel.js';
import { LiveCells } from './cells.js';
import { FileOpener } from './open.js';
import type { CellSpot } from './opened.js';
import { Orphans } from './orphans.js';
import { addCallRenderer } from './renderer.js';
import { ICallCanceller, IFileOpener } from './tokens.js';
import { Arrivals } from './trace/arrival.js';
import { TraceKernels } from './trace/kernel.js';
import { addTraceLauncher } from './trace/launch.js';
import { addTraceRenderer } from './trace/renderer.js';

const opener: JupyterFrontEndPlugin<IFileOpener> = {
  id: 'nbtools-agent:opener',
  description: 'Opens the files that cards name, at their lines.',
  autoStart: true,
  provides: IFileOpener,
  activate: (app: JupyterFrontEnd) => new FileOpener(app.commands)
};

const canceller: JupyterFrontEndPlugin<ICallCanceller> = {
  id: 'nbtools-agent:canceller',
  description: 'Cancels running calls.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: ICallCanceller,
  activate: (_, notebooks: INotebookTracker) => new CallCanceller(notebooks)
};

const renderer: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:renderer',
  description: 'Draws the cards of calls.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [IFileOpener, ICallCanceller],
  activate: (_, rendermime: IRenderMimeRegistry, files: IFileOpener | null, calls: ICallCanceller | null) =>
    addCallRenderer({ rendermime, opener: files, canceller: calls })
};

const questions: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:questions',
  description: 'Focus and keys for questions.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_, notebooks: INotebookTracker) => new QuestionKeys(notebooks).listen()
};

const orphans: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:orphans',
  description: 'Keeps cards true after the page is loaded again, or the kernel has ended.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator],
  activate: (_, notebooks: INotebookTracker, translator: ITranslator | null) =>
    void new Orphans(notebooks, (translator ?? nullTranslator).load('nbtools_agent'))
};

const cells: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:cells',
  description: 'Lets kernels read, change and run the cells of open notebooks.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker) => {
    new LiveCells(app.serviceManager.serverSettings.baseUrl, notebooks, run);
  }
};

const traces: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:traces',
  description: 'Draws what agents did, to look through.',
  autoStart: true,
  requires: [IRenderMimeRegistry, INotebookTracker],
  optional: [IFileOpener, ICallCanceller],
  activate: (_, rendermime: IRenderMimeRegistry, notebooks: INotebookTracker, opener: IFileOpener | null, canceller: ICallCanceller | null) =>
    addTraceRenderer({ rendermime, notebooks, opener, canceller, kernels: new TraceKernels() })
};

const runs: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:runs',
  description: 'Draws what the notebook\'s agent says, between the cards of its calls.',
  autoStart: true,
  requires: [IRenderMimeRegistry, INotebookTracker],
  optional: [IFileOpener, ICallCanceller],
  activate: (_, rendermime: IRenderMimeRegistry, notebooks: INotebookTracker, opener: IFileOpener | null, canceller: ICallCanceller | null) =>
    addRunRenderer({ rendermime, notebooks, opener, canceller })
};

const launcher: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:trace-launcher',
  description: 'Opens the logs of agents from the file browser.',
  autoStart: true,
  optional: [IFileBrowserFactory, INotebookTracker, ICommandPalette, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    files: IFileBrowserFactory | null,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ) => {
    const arrivals = new Arrivals(app.serviceManager.serverSettings.baseUrl);
    files && addTraceLauncher(app, files, palette, arrivals, (translator ?? nullTranslator).load('nbtools_agent'));
    notebooks && arrivals.watch(notebooks);
  }
};

/** Runs a cell and leaves the person where they were: typing goes on, for in command mode letters would be commands. */
async function run({ panel: { content, sessionContext }, index }: CellSpot): Promise<unknown> {
  const cell = content.widgets[index];
  const mode = content.mode;
  const ran = cell && NotebookActions.runCells(content, [cell], sessionContext);
  content.mode = mode;
  return ran?.catch(() => false);
}

export default [opener, canceller, renderer, questions, orphans, cells, traces, runs, launcher];
