import { ILayoutRestorer, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { FileDialog } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { Token } from '@lumino/coreutils';
import { ICardServices, IKernelStates, ISettings } from '../shared/tokens.js';
import { AgentsPanel } from './agents_panel.js';
import { showCell } from './jump.js';
import { KernelStates } from './kernel_states.js';
import { Notifier } from './notifications.js';
import { OPEN_LOG, RecentLogs } from './recent_logs.js';
import { StatusItem } from './status_item.js';
import { catalogue } from '../shared/catalogue.js';

const SHOW_PANEL = 'nbtools:show-agents';

/** The panel *Agents*, for the parts of the page that open it. */
interface IAgentsPanel {
  readonly panel: AgentsPanel;
  show(): void;
}
const IAgentsPanel = new Token<IAgentsPanel>('nbtools-agent:IAgentsPanel', 'The panel Agents.');

const states: JupyterFrontEndPlugin<IKernelStates> = {
  id: 'nbtools-agent:kernel-states',
  description: 'Follows the state of nbtools in the kernels of open notebooks.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: IKernelStates,
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker) => new KernelStates(notebooks, app.serviceManager.kernels)
};

const panel: JupyterFrontEndPlugin<IAgentsPanel> = {
  id: 'nbtools-agent:agents-panel',
  description: 'The panel Agents: what waits, runs and was changed in all notebooks.',
  autoStart: true,
  requires: [IKernelStates, ICardServices],
  optional: [ILayoutRestorer, IDocumentManager, ICommandPalette, ITranslator],
  provides: IAgentsPanel,
  activate: (
    app: JupyterFrontEnd,
    kernels: IKernelStates,
    services: ICardServices,
    restorer: ILayoutRestorer | null,
    documents: IDocumentManager | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null
  ) => {
    const trans = catalogue(translator);
    const context = { app, states: kernels, services, logs: new RecentLogs(app), trans };
    const chooseLog = documents && (() => openLog(app, documents, trans.__('Open a session log')));
    const agents = new AgentsPanel(context, chooseLog);
    app.shell.add(agents, 'left', { rank: 350, type: 'Agents' });
    restorer?.add(agents, agents.id);
    const show = () => {
      app.shell.activateById(agents.id);
      agents.showWaiting();
    };
    app.commands.addCommand(SHOW_PANEL, {
      label: trans.__('Show the Panel Agents'),
      caption: trans.__('Show what waits, runs and was changed in all notebooks'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: show
    });
    palette?.addItem({ command: SHOW_PANEL, category: trans.__('nbtools') });
    return { panel: agents, show };
  }
};

const status: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:status',
  description: 'The status-bar item: questions that wait, and the mode.',
  autoStart: true,
  requires: [IKernelStates, INotebookTracker, IStatusBar],
  optional: [IAgentsPanel, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    kernels: IKernelStates,
    notebooks: INotebookTracker,
    bar: IStatusBar,
    agents: IAgentsPanel | null,
    translator: ITranslator | null
  ) => {
    const trans = catalogue(translator);
    const item = new StatusItem(kernels, notebooks, trans, async () => (await showFirstQuestion(app, kernels)) || agents?.show());
    const activeStateChanged = new Signal<StatusItem, void>(item);
    kernels.changed.connect(() => activeStateChanged.emit());
    bar.registerStatusItem('nbtools-agent:status', { item, align: 'left', rank: 50, isActive: () => item.isActive(), activeStateChanged });
  }
};

const notifications: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:notifications',
  description: 'Notifies of questions that wait unseen and of background work that ends unseen.',
  autoStart: true,
  requires: [IKernelStates],
  optional: [IAgentsPanel, ISettings, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    kernels: IKernelStates,
    agents: IAgentsPanel | null,
    settings: ISettings | null,
    translator: ITranslator | null
  ) => {
    const trans = catalogue(translator);
    void new Notifier(app, kernels, settings, trans, agents);
  }
};

/** Goes to the question that waits longest; returns whether there is one.  A cell that ran before the page was reloaded does not show it. */
async function showFirstQuestion(app: JupyterFrontEnd, kernels: IKernelStates): Promise<boolean> {
  const kernel = kernels.current.find(({ state }) => state?.questions.length);
  const question = kernel?.state?.questions[0];
  return kernel !== undefined && question !== undefined && showCell(app, kernel, question.cell);
}

async function openLog(app: JupyterFrontEnd, manager: IDocumentManager, title: string): Promise<void> {
  const { value } = await FileDialog.getOpenFiles({ manager, title });
  if (value?.[0]) {
    await app.commands.execute(OPEN_LOG, { path: value[0].path });
  }
}

export default [states, panel, status, notifications];
