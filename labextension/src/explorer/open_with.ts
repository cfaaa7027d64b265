import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { Drive } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import type { RunOnOpen } from './run_on_open.js';

const COMMAND = 'nbtools:open-trace';
const ITEM = '.jp-DirListing-item[data-isdir="false"]';
/** After *Open With*. */
const RANK = 1.5;
/** File name extensions of logs; the kernel detects the format. */
const LOG = /\.(jsonl|json|eval|traj|log|ndjson)$/i;

const PLAIN_LINE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \t]*$/u;

/** Adds a command, with a context menu item and a palette entry, that opens the log selected in the file browser. */
export function addTraceLauncher(
  app: JupyterFrontEnd,
  files: IFileBrowserFactory,
  palette: ICommandPalette | null,
  runOnOpen: RunOnOpen,
  trans: TranslationBundle
): void {
  const selected = () => selectedLog(files);
  app.commands.addCommand(COMMAND, {
    label: trans.__('Open as Agent Trace'),
    caption: trans.__('Open the selected session log of a coding agent in a new notebook next to it'),
    describedBy: { args: { type: 'object', properties: {} } },
    isVisible: () => selected() !== null,
    isEnabled: () => selected() !== null,
    execute: async () => {
      const log = selected();
      return log === null ? null : open(app, log, runOnOpen);
    }
  });
  app.contextMenu.addItem({ command: COMMAND, selector: ITEM, rank: RANK });
  palette?.addItem({ command: COMMAND, category: trans.__('File Operations') });
}

/** Returns the path of the selected file if it is the only one and may be a log; else null. */
function selectedLog(files: IFileBrowserFactory): string | null {
  const items = [...(files.tracker.currentWidget?.selectedItems() ?? [])];
  const [only] = items.length === 1 ? items : [];
  return only && only.type !== 'directory' && LOG.test(only.name) ? only.path : null;
}

async function open(app: JupyterFrontEnd, log: string, runOnOpen: RunOnOpen): Promise<void> {
  const { contents, kernelspecs, serverSettings } = app.serviceManager;
  await kernelspecs.ready;
  const drive = contents.driveName(log);
  const localPath = await writeNotebook(new Drive({ serverSettings }), contents.localPath(log), kernelspecOf(kernelspecs.specs));
  const path = drive ? `${drive}:${localPath}` : localPath;
  runOnOpen.announce(path);
  await app.commands.execute('docmanager:open', { path, factory: 'Notebook' });
}

/**
 * Writes a new notebook next to the log and returns its path.  It is named after the log unless that file exists.
 *
 * `contents` is a separate drive, to which the file browser does not listen: refreshing the listing while a file is renamed would fail.
 */
async function writeNotebook(contents: Drive, log: string, kernelspec: object): Promise<string> {
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

/** Returns the source of a cell that opens a log: a magic, or a function call if the file name cannot be part of a magic's line. */
export function traceCell(log: string): string {
  const line = quote(log);
  return isPlainLine(line) ? `%trace ${line}` : `get_ipython().run_line_magic('trace', ${pythonLiteral(line)})`;
}

/**
 * Whether a text can be part of a magic's line: it contains only printable characters, spaces and tabs.
 *
 * The same rule as `is_plain_line` in `nbtools/notebook/magics/command_line.py`, which gives the reason.
 */
export function isPlainLine(text: string): boolean {
  return PLAIN_LINE.test(text);
}

/** Quotes a file name as one argument of the magic.  In double quotes, quotes and backslashes are escaped by a backslash. */
function quote(name: string): string {
  if (!/["\\]/.test(name)) {
    return `"${name}"`;
  }
  return name.includes("'") ? `"${name.replace(/["\\]/g, '\\$&')}"` : `'${name}'`;
}

/** Returns a Python string literal; quotes, backslashes and non-printable characters are escaped. */
function pythonLiteral(text: string): string {
  const escaped = [...text].map(char =>
    isPlainLine(char) && !`'\\\t`.includes(char) ? char : `\\U${char.codePointAt(0)!.toString(16).padStart(8, '0')}`
  );
  return `'${escaped.join('')}'`;
}

type Specs = JupyterFrontEnd['serviceManager']['kernelspecs']['specs'];

/** Returns the metadata of a Python kernel: the default kernel if it is one, else the first. */
function kernelspecOf(specs: Specs): object {
  const all = Object.values(specs?.kernelspecs ?? {});
  const python = all.filter(spec => spec?.language.toLowerCase() === 'python');
  const chosen = python.find(spec => spec?.name === specs?.default) ?? python[0];
  return { name: chosen?.name ?? 'python3', display_name: chosen?.display_name ?? 'Python 3', language: 'python' };
}
