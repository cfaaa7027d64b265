import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import type { Arrivals } from './arrival.js';

const COMMAND = 'nbtools:open-trace';
const ITEM = '.jp-DirListing-item[data-isdir="false"]';
/** After *Open With*. */
const RANK = 1.5;
/** How logs' names end; what is in them, the kernel finds out. */
const LOG = /\.(jsonl|json|eval|traj|log|ndjson)$/i;

type Contents = JupyterFrontEnd['serviceManager']['contents'];

/** Offers to open the log that is selected in the file browser. */
export function addTraceLauncher(
  app: JupyterFrontEnd,
  files: IFileBrowserFactory,
  palette: ICommandPalette | null,
  arrivals: Arrivals,
  trans: TranslationBundle
): void {
  const selected = () => selectedLog(files);
  app.commands.addCommand(COMMAND, {
    label: trans.__('Open as Agent Trace'),
    caption: trans.__('Show what a coding agent did, in a new notebook beside its log'),
    isVisible: () => selected() !== null,
    isEnabled: () => selected() !== null,
    execute: async () => {
      const log = selected();
      return log === null ? null : open(app, log, arrivals);
    }
  });
  app.contextMenu.addItem({ command: COMMAND, selector: ITEM, rank: RANK });
  palette?.addItem({ command: COMMAND, category: trans.__('File Operations') });
}

/** The path of the only file that is selected, where it may be a log. */
function selectedLog(files: IFileBrowserFactory): string | null {
  const items = [...(files.tracker.currentWidget?.selectedItems() ?? [])];
  const [only] = items.length === 1 ? items : [];
  return only && only.type !== 'directory' && LOG.test(only.name) ? only.path : null;
}

async function open(app: JupyterFrontEnd, log: string, arrivals: Arrivals): Promise<void> {
  const { contents, kernelspecs } = app.serviceManager;
  await kernelspecs.ready;
  const path = await written(contents, log, specFor(kernelspecs.specs));
  arrivals.announce(path);
  await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
}

/** Writes the notebook beside the log: named after it where that is free. */
async function written(contents: Contents, log: string, kernelspec: object): Promise<string> {
  const folder = log.slice(0, log.lastIndexOf('/') + 1);
  const name = log.slice(folder.length);
  const wanted = `${folder}${name.replace(LOG, '')}.ipynb`;
  const there = await contents.get(wanted, { content: false }).catch(() => null);
  const path = there === null ? wanted : (await contents.newUntitled({ path: folder, type: 'notebook' })).path;
  await contents.save(path, { type: 'notebook', format: 'json', content: notebookOf(name, kernelspec) });
  return path;
}

function notebookOf(log: string, kernelspec: object) {
  const cells = ['%load_ext nbtools', `%trace ${quoted(log)}`].map(source => ({
    cell_type: 'code',
    id: UUID.uuid4(),
    metadata: { trusted: true },
    execution_count: null,
    outputs: [],
    source
  }));
  return { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells };
}

/** One word for the magic. */
function quoted(name: string): string {
  return name.includes('"') ? `'${name}'` : `"${name}"`;
}

type Specs = JupyterFrontEnd['serviceManager']['kernelspecs']['specs'];

/** A Python: the one that Jupyter starts by itself, else the first that there is. */
function specFor(specs: Specs): object {
  const all = Object.values(specs?.kernelspecs ?? {});
  const python = all.filter(one => one?.language.toLowerCase() === 'python');
  const chosen = python.find(one => one?.name === specs?.default) ?? python[0];
  return { name: chosen?.name ?? 'python3', display_name: chosen?.display_name ?? 'Python 3', language: 'python' };
}
