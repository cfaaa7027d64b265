import type { ILabShell, ILayoutRestorer, JupyterFrontEnd } from '@jupyterlab/application';
import { type ICommandPalette, MainAreaWidget, WidgetTracker } from '@jupyterlab/apputils';
import { URLExt } from '@jupyterlab/coreutils';
import type { DocumentRegistry, IDocumentWidget } from '@jupyterlab/docregistry';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { LabIcon } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { TabPanel } from '@lumino/widgets';
import { iconSource } from '../shared/icons.js';
import { nameOf } from '../shared/path.js';
import { SESSION, takeOpenedAddress } from './opened_address.js';
import { type CreateLogView, DeferredLog } from './deferred_log.js';
import type { LogServices } from './log_view.js';

export const OPEN_LOG = 'nbtools:open-log';
export const COMPARE_LOGS = 'nbtools:compare-logs';
export const LIST_SESSIONS = 'nbtools:list-sessions';
/** The file type of Inspect's archives, and the name of what opens logs for JupyterLab's document manager. */
const EVAL = 'nbtools-eval';
const ITEM = '.jp-DirListing-item[data-isdir="false"]';
/** After *Open With*. */
const RANK = 1.5;
/** File name extensions of logs; the kernel detects the format. */
const LOG = /\.(jsonl|json|eval|traj|log|ndjson)$/i;
/** Paths longer than this are no files of a server. */
const MAX_PATH = 4096;
/** Characters of a step's number, or of a search. */
const MAX_STEP = 1010;
/** Logs that are compared with each other. */
const MOST_LOGS = 20;
/** Arguments in the file browser's menu, whose items are hidden where the selection is no log. */
const SELECTED = { selection: true };
/** Local storage: logs to be opened by Notebook 7's page of files, and the milliseconds for which they wait. */
const REQUESTED = 'nbtools-agent:open-log';
const REQUEST_TIMEOUT = 60_000;

export const logIcon = new LabIcon({ name: 'nbtools-agent:log', svgstr: iconSource('session') });

export interface LogTabOptions {
  readonly app: JupyterFrontEnd;
  readonly trans: TranslationBundle;
  readonly labShell: ILabShell | null;
  readonly restorer: ILayoutRestorer | null;
  readonly choose: LogServices['choose'];
  /** Creates the view of one log, or of the comparison of several. */
  readonly createView: CreateLogView;
}

type LogTab = MainAreaWidget<DeferredLog>;

/** The tabs of session logs: one for each log or comparison, restored when the page is loaded again. */
export class LogTabs {
  private readonly tracker = new WidgetTracker<LogTab>({ namespace: 'nbtools-agent-logs' });

  constructor(private readonly options: LogTabOptions) {
    const { restorer } = options;
    void restorer?.restore(this.tracker, {
      command: OPEN_LOG,
      args: ({ content: { paths }, title: { label } }) => (paths.length ? { paths: [...paths], label } : { sessions: true }),
      name: ({ content }) => content.paths.join(' ') || 'sessions'
    });
  }

  /** Opens the tab of a log, of the comparison of several, or, without a path, of the list of all sessions; an open one comes to the front. */
  open(paths: readonly string[], label = '', step = ''): void {
    const tab = this.tab(paths, label);
    step && tab.content.openAt(step);
    this.show(tab);
  }

  /** Opens the log that the page's address names. */
  openAddressed(): void {
    const [log, step] = takeOpenedAddress() ?? [];
    log && this.open([log], '', step);
  }

  /** Opens the logs that another page of Notebook 7 has requested. */
  openRequested(): void {
    const request = parseRequest(localStorage.getItem(REQUESTED));
    if (request !== null && this.panel() !== undefined) {
      localStorage.removeItem(REQUESTED);
      this.open(request);
    }
  }

  /** Returns the tab of a log as a document. */
  document(context: DocumentRegistry.Context): IDocumentWidget {
    const tab = this.tab([context.path], '');
    this.tracker.has(tab) || void this.tracker.add(tab);
    // *Save* would write the model, which has no content, and a checkpoint would be a copy of the whole file.
    const nothing = async () => false;
    Object.assign(context, { save: nothing, saveAs: nothing, createCheckpoint: nothing });
    return Object.assign(tab, { context, setFragment: nothing as unknown as () => void });
  }

  private tab(paths: readonly string[], label: string): LogTab {
    return this.tracker.find(({ content }) => content.paths.join('\0') === paths.join('\0')) ?? this.create(paths, label);
  }

  private create(paths: readonly string[], label: string): LogTab {
    const { trans, createView } = this.options;
    const tab = new MainAreaWidget({ content: new DeferredLog(paths, label, createView, trans) });
    tab.toolbar.hide();
    this.entitle(tab, label);
    tab.content.changed.connect(() => void this.rename(tab));
    tab.title.icon = logIcon;
    tab.title.closable = true;
    return tab;
  }

  /** Gives the tab the name of another log, under which it is restored. */
  private async rename(tab: LogTab): Promise<void> {
    const { app, labShell } = this.options;
    this.entitle(tab, tab.content.label);
    await this.tracker.save(tab);
    labShell && app.shell.add(tab, 'main', { ref: tab.id, mode: 'tab-before', activate: false }); // stays, but the layout is saved
  }

  private entitle(tab: LogTab, label: string): void {
    const { trans } = this.options;
    const { paths } = tab.content;
    const known = paths.every(path => !path.startsWith(SESSION));
    const isNamed = known && paths.length < 4;
    const name = isNamed ? paths.map(nameOf).join(' ↔ ') : paths.length > 1 ? trans.__('Comparison') : '';
    tab.title.label = label || name || trans.__('Agent Sessions');
    tab.title.caption =
      known && paths.length ? (paths.length > 1 ? trans.__('Comparison of %1', paths.join(', ')) : paths[0]!) : tab.title.label;
  }

  private show(tab: LogTab): void {
    const { app, labShell } = this.options;
    const panel = this.panel();
    if (labShell) {
      tab.isAttached || app.shell.add(tab, 'main');
      app.shell.activateById(tab.id);
    } else if (panel) {
      panel.addWidget(tab);
      panel.currentWidget = tab;
    } else {
      const { paths } = tab.content;
      tab.dispose();
      localStorage.setItem(REQUESTED, JSON.stringify({ paths, time: Date.now() }));
      window.open(URLExt.join(app.serviceManager.serverSettings.baseUrl, 'tree'), '_blank');
      return;
    }
    this.tracker.has(tab) || void this.tracker.add(tab);
  }

  /** The tabs of Notebook 7's page of files. */
  private panel(): TabPanel | undefined {
    return [...this.options.app.shell.widgets('main')].find(widget => widget instanceof TabPanel);
  }
}

/** Adds the commands, with context menu items and palette entries.  Without arguments they take the file browser's selection, else ask. */
export function addLogCommands(
  { app, trans, choose }: LogTabOptions,
  tabs: LogTabs,
  files: IFileBrowserFactory | null,
  palette: ICommandPalette | null
): void {
  const one = (args: object) => pathsOf(args, 'path', 'other', 'paths') ?? selectedLogs(files, 1, 1);
  const several = (args: object) => pathsOf(args, 'paths') ?? selectedLogs(files, 2, MOST_LOGS);
  const path = { type: 'string' as const, description: trans.__('The path of a log, as in the file browser') };
  app.commands.addCommand(OPEN_LOG, {
    label: trans.__('Open as Agent Trace'),
    caption: trans.__('Open the session log of a coding agent in a tab'),
    icon: logIcon,
    describedBy: { args: { type: 'object', properties: { path, other: path } } },
    isVisible: args => one(args) !== null || isChoice(args),
    execute: async args => {
      if (args['sessions'] === true) {
        tabs.open([]);
        return;
      }
      const paths = one(args) ?? (isChoice(args) ? await choose?.(trans.__('Open a Session Log'), 1, 1) : null);
      const text = (name: string, most: number) => (typeof args[name] === 'string' ? args[name].slice(0, most) : '');
      paths && tabs.open(paths, text('label', 200), text('step', MAX_STEP));
    }
  });
  app.commands.addCommand(COMPARE_LOGS, {
    label: trans.__('Compare Agent Traces'),
    caption: trans.__('Compare several session logs in a tab'),
    icon: logIcon,
    describedBy: { args: { type: 'object', properties: { paths: { type: 'array', items: path, minItems: 2, maxItems: MOST_LOGS } } } },
    isVisible: args => several(args) !== null || isChoice(args),
    execute: async args => {
      const paths = several(args) ?? (isChoice(args) ? await choose?.(trans.__('Choose Session Logs'), 2, MOST_LOGS) : null);
      paths && tabs.open(paths);
    }
  });
  app.commands.addCommand(LIST_SESSIONS, {
    label: trans.__('Agent Sessions'),
    caption: trans.__('List the sessions of all coding agents on this machine'),
    icon: logIcon,
    describedBy: { args: { type: 'object', properties: {} } },
    execute: () => tabs.open([])
  });
  palette?.addItem({ command: LIST_SESSIONS, category: trans.__('nbtools') });
  for (const command of [OPEN_LOG, COMPARE_LOGS]) {
    app.contextMenu.addItem({ command, args: SELECTED, selector: ITEM, rank: RANK });
    choose && palette?.addItem({ command, category: trans.__('nbtools') });
  }
}

/** Opens Inspect's archives on a double click, and offers the explorer for JSON in *Open With*.  No content is loaded into the page. */
export function addLogDocuments({ app: { docRegistry }, trans }: LogTabOptions, tabs: LogTabs): void {
  docRegistry.addFileType({ name: EVAL, extensions: ['.eval'], fileFormat: 'base64', icon: logIcon });
  // The model of texts without a format, which makes the document manager request no content.
  docRegistry.addModelFactory(
    Object.create(docRegistry.getModelFactory('text')!, {
      name: { value: EVAL },
      fileFormat: { value: null }
    }) as DocumentRegistry.ModelFactory
  );
  docRegistry.addWidgetFactory({
    name: EVAL,
    label: trans.__('Agent Trace'),
    modelName: EVAL,
    fileTypes: [EVAL, 'json', 'jsonl'],
    defaultFor: [EVAL],
    canStartKernel: false,
    widgetCreated: new Signal({}),
    createNew: (context: DocumentRegistry.Context) => tabs.document(context)
  } as unknown as DocumentRegistry.WidgetFactory); // it is never disposed of
}

/** Whether the person chooses the files in a dialog, if none is selected: the arguments name nothing, not even something invalid. */
function isChoice(args: object): boolean {
  return !['path', 'other', 'paths', 'selection', 'sessions'].some(name => name in args);
}

/** Returns the paths that the arguments name; null if they name none, or something that is no path. */
function pathsOf(args: object, ...names: string[]): string[] | null {
  const values = names.flatMap(name => (args as Record<string, unknown>)[name] ?? []);
  const paths = values.filter(value => typeof value === 'string' && value !== '' && value.length <= MAX_PATH) as string[];
  return paths.length && paths.length === values.length && paths.length <= MOST_LOGS ? paths : null;
}

/** Returns the paths of the selected files if there are `least` to `most` and all may be logs; else null. */
function selectedLogs(files: IFileBrowserFactory | null, least: number, most: number): string[] | null {
  const items = [...(files?.tracker.currentWidget?.selectedItems() ?? [])];
  const logs = items.filter(({ type, name }) => type !== 'directory' && LOG.test(name));
  return logs.length >= least && logs.length <= most && items.length === logs.length ? logs.map(({ path }) => path) : null;
}

function parseRequest(text: string | null): string[] | null {
  try {
    const { paths, time } = JSON.parse(text ?? 'null') as { paths?: unknown; time?: unknown };
    return Date.now() - Number(time) < REQUEST_TIMEOUT ? pathsOf({ paths }, 'paths') : null;
  } catch {
    return null;
  }
}
