import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator } from '@jupyterlab/translation';
import { addRunRenderer } from './agent/renderer.js';
import questions from './approval/plugins.js';
import { CallCanceller } from './cards/cancel_call.js';
import { CellRequests } from './live_cells/cell_requests.js';
import { FileOpener } from './shared/file_opener.js';
import type { CellLocation } from './live_cells/open_notebook.js';
import { StaleCards } from './cards/stale_cards.js';
import { addGroupRenderer } from './cards/group_renderer.js';
import { addCallRenderer } from './cards/renderer.js';
import { ICallCanceller, ICardServices, IFileOpener, ISettings } from './shared/tokens.js';
import explorerPlugins from './explorer/plugins.js';
import panelPlugins from './panel/plugins.js';
import editorPlugins from './editor/plugins.js';
import labPlugins from './lab/plugins.js';
import { catalogue } from './shared/catalogue.js';

const opener: JupyterFrontEndPlugin<IFileOpener> = {
  id: 'nbtools-agent:opener',
  description: 'Opens files from cards at a given line.',
  autoStart: true,
  provides: IFileOpener,
  activate: (app: JupyterFrontEnd) => new FileOpener(app.commands)
};

const canceller: JupyterFrontEndPlugin<ICallCanceller> = {
  id: 'nbtools-agent:canceller',
  description: 'Cancels running tool calls and undoes finished ones.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator],
  provides: ICallCanceller,
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker, translator: ITranslator | null) =>
    new CallCanceller(notebooks, app.commands, catalogue(translator))
};

const services: JupyterFrontEndPlugin<ICardServices> = {
  id: 'nbtools-agent:card-services',
  description: 'Collects the services of the application for cards.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [IFileOpener, ICallCanceller, ISettings],
  provides: ICardServices,
  activate: (
    _,
    rendermime: IRenderMimeRegistry,
    opener: IFileOpener | null,
    canceller: ICallCanceller | null,
    settings: ISettings | null
  ) => ({ rendermime, opener, canceller, settings })
};

const renderer: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:renderer',
  description: 'Renders the cards of tool calls.',
  autoStart: true,
  requires: [ICardServices],
  activate: (_, cards: ICardServices) => {
    addCallRenderer(cards);
    addGroupRenderer(cards);
  }
};

const orphans: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:orphans',
  description: 'Updates the cards of unfinished calls after a page reload or the end of the kernel.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator],
  activate: (_, notebooks: INotebookTracker, translator: ITranslator | null) => void new StaleCards(notebooks, catalogue(translator))
};

const cells: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:cells',
  description: 'Lets kernels read, edit and run the cells of open notebooks.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker) => {
    new CellRequests(app.serviceManager.serverSettings.baseUrl, notebooks, run);
  }
};

const runs: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:runs',
  description: 'Renders the status and the messages of agent runs in the notebook.',
  autoStart: true,
  requires: [ICardServices, INotebookTracker],
  activate: (_, cards: ICardServices, notebooks: INotebookTracker) => addRunRenderer({ ...cards, notebooks })
};

/** Runs a cell without changing the notebook's mode: in command mode, letters that a person is typing would be shortcuts. */
async function run({ panel: { content, sessionContext }, index }: CellLocation): Promise<unknown> {
  const cell = content.widgets[index];
  const mode = content.mode;
  const execution = cell && NotebookActions.runCells(content, [cell], sessionContext);
  content.mode = mode;
  return execution?.catch(() => false);
}

export default [
  opener,
  canceller,
  services,
  renderer,
  ...questions,
  orphans,
  cells,
  runs,
  ...explorerPlugins,
  ...editorPlugins,
  ...labPlugins,
  ...panelPlugins
];
