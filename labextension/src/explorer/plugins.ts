import { ILabShell, ILayoutRestorer, IRouter, type JupyterFrontEnd, type JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { FileDialog, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator } from '@jupyterlab/translation';
import { ICardServices } from '../shared/tokens.js';
import type { CreateLogView } from './deferred_log.js';
import { addTraceRenderer } from './deferred_renderer.js';
import { loadChunk } from './load_chunk.js';
import type { LogSession } from './log_session.js';
import { takeOpenedAddress } from './opened_address.js';
import { addLogCommands, addLogDocuments, COMPARE_LOGS, LogTabs, OPEN_LOG } from './log_tabs.js';
import { catalogue } from '../shared/catalogue.js';

const traces: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:traces',
  description: 'Renders the explorer of agent session logs.',
  autoStart: true,
  requires: [ICardServices, INotebookTracker],
  optional: [ILabShell],
  activate: (app: JupyterFrontEnd, cards: ICardServices, notebooks: INotebookTracker, labShell: ILabShell | null) =>
    addTraceRenderer({ ...cards, notebooks, contents: labShell && app.serviceManager.contents })
};

const logs: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:logs',
  description: 'Opens and compares agent session logs in tabs of their own.',
  autoStart: true,
  requires: [ICardServices],
  optional: [ILabShell, ILayoutRestorer, IFileBrowserFactory, INotebookTracker, ICommandPalette, ITranslator, IDocumentManager, IRouter],
  activate: (
    app: JupyterFrontEnd,
    cards: ICardServices,
    labShell: ILabShell | null,
    restorer: ILayoutRestorer | null,
    files: IFileBrowserFactory | null,
    notebooks: INotebookTracker | null,
    palette: ICommandPalette | null,
    translator: ITranslator | null,
    manager: IDocumentManager | null,
    router: IRouter | null
  ) => {
    const trans = catalogue(translator);
    const { contents } = app.serviceManager;
    const services = {
      ...cards,
      canceller: null,
      trans,
      problemOf: async (path: string) => {
        if (path.startsWith('session:')) {
          return ''; // the kernel knows the session, or says that it has gone
        }
        const model = await contents.get(path, { content: false }).catch(() => null);
        return model && model.type !== 'directory' ? '' : trans.__('%1 does not exist, or Jupyter does not serve it.', path);
      },
      openLog: (path: string, label = '', step = '') => void app.commands.execute(OPEN_LOG, { path, label, step }),
      compareLogs: (paths: readonly string[]) => void app.commands.execute(COMPARE_LOGS, { paths: [...paths] }),
      choose:
        manager &&
        (async (title: string, least: number, most: number) => {
          const { value } = await FileDialog.getOpenFiles({ manager, title });
          const paths = (value ?? []).filter(({ type }) => type !== 'directory').map(({ path }) => path);
          return paths.length >= least && paths.length <= most ? paths : null;
        })
    };
    let session: LogSession | null = null;
    const createView: CreateLogView = async (paths, onPaths) => {
      const { CellTarget, LogAddresses, LogSession, LogView } = await loadChunk();
      const cells = new CellTarget(app, notebooks, trans);
      const addresses = labShell && new LogAddresses(contents);
      session ??= new LogSession(app.serviceManager, trans);
      return new LogView(
        paths,
        { ...services, session, addresses, addCell: (log, source, run) => void cells.add(log, source, run) },
        onPaths
      );
    };
    const options = { app, trans, labShell, restorer, choose: services.choose, createView };
    const tabs = new LogTabs(options);
    addLogCommands(options, tabs, files, palette);
    labShell && addLogDocuments(options, tabs); // Notebook 7 opens documents on pages of their own
    void app.restored.then(() => {
      labShell ? tabs.openAddressed() : tabs.openRequested();
      router?.routed.connect(() => void takeOpenedAddress()); // a workspace that is copied sets the page's first address again
    });
  }
};

export default [traces, logs];
