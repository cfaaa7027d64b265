import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { Drive } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import type { Arrivals } from './arrival.js';

const COMMAND = 'nbtools:open-trace';
const ITEM = '.jp-DirListing-item[data-isdir="false"]';
/** After *Open With*. */
const RANK = 1.5;
/** How logs' names end; what is in them, the kernel finds out. */
const LOG = /\.(jsonl|json|eval|traj|log|ndjson)$/i;

const PLAIN = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \t]*$/u;

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
  const { contents, kernelspecs, serverSettings } = app.serviceManager;
  await kernelspecs.ready;
  const drive = contents.driveName(log);
  const local = await written(new Drive({ serverSettings }), contents.localPath(log), specFor(kernelspecs.specs));
  const path = drive ? `${drive}:${local}` : local;
  arrivals.announce(path);
  await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
}

/**
 * Writes a new notebook beside the log, named after it where that is free: the server renames nothing over another file.
 *
 * The drive is one that the file browser does not listen to: the server fails to list a folder in which a file is renamed meanwhile.
 */
async function written(contents: Drive, log: string, kernelspec: object): Promise<string> {
  const folder = log.slice(0, log.lastIndexOf('/') + 1);
  const name = log.slice(folder.length);
  const { path } = await contents.newUntitled({ path: folder, type: 'notebook' });
  await contents.save(path, { type: 'notebook', format: 'json', content: notebookOf(name, kernelspec) });
  const renamed = await contents.rename(path, `${folder}${name.replace(LOG, '')}.ipynb`).catch(() => null);
  return renamed?.path ?? path;
}

function notebookOf(log: string, kernelspec: object) {
  const cells = ['%load_ext nbtools', traceCell(log)].map(source => ({
    cell_type: 'code',
    id: UUID.uuid4(),
    metadata: { trusted: true },
    execution_count: null,
    outputs: [],
    source
  }));
  return { nbformat: 4, nbformat_minor: 5, metadata: { kernelspec }, cells };
}

/** The source of a cell that opens a log; the call of a function where the name could not stand in a cell as it is. */
export function traceCell(log: string): string {
  const line = quoted(log);
  return isPlainLine(line) ? `%trace ${line}` : `get_ipython().run_line_magic('trace', ${pythonLiteral(line)})`;
}

/**
 * Whether a text may stand on the line of a magic: printable characters, spaces and tabs only.
 *
 * `is_plain_line` in `nbtools/notebook/command_line.py` is the same rule, and says why.
 */
export function isPlainLine(text: string): boolean {
  return PLAIN.test(text);
}

/** One word for the magic, which in double quotes takes a backslash before a quote or a backslash for an escape. */
function quoted(name: string): string {
  if (!/["\\]/.test(name)) {
    return `"${name}"`;
  }
  return name.includes("'") ? `"${name.replace(/["\\]/g, '\\$&')}"` : `'${name}'`;
}

/** A string of Python's: quotes, backslashes and all that is not printable are escaped. */
function pythonLiteral(text: string): string {
  const escaped = [...text].map(one => (isPlainLine(one) && !`'\\\t`.includes(one) ? one : `\\U${one.codePointAt(0)!.toString(16).padStart(8, '0')}`));
  return `'${escaped.join('')}'`;
}

type Specs = JupyterFrontEnd['serviceManager']['kernelspecs']['specs'];

/** A Python: the one that Jupyter starts by itself, else the first that there is. */
function specFor(specs: Specs): object {
  const all = Object.values(specs?.kernelspecs ?? {});
  const python = all.filter(one => one?.language.toLowerCase() === 'python');
  const chosen = python.find(one => one?.name === specs?.default) ?? python[0];
  return { name: chosen?.name ?? 'python3', display_name: chosen?.display_name ?? 'Python 3', language: 'python' };
}
