import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { ILauncher } from '@jupyterlab/launcher';
import type { IMainMenu } from '@jupyterlab/mainmenu';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { LabIcon } from '@jupyterlab/ui-components';
import { iconSource } from '../shared/icons.js';
import { COMMANDS } from './commands.js';
import { LOAD } from './notebook_cells.js';

const NEW_NOTEBOOK = 'nbtools:new-notebook';
const LOG_TILE = 'nbtools:explore-log';
const LIST_SESSIONS = 'nbtools:list-sessions';
/** The cells of a new notebook: text, then calls, of which one changes a file and asks. */
function cellsOf(trans: TranslationBundle): readonly (readonly ['markdown' | 'code', string])[] {
  const start = trans.__(
    'Run the cells one after the other with Shift+Enter. The last but one asks before it writes a file: y approves once.'
  );
  const agent = trans.__('A model works with the same tools in a cell that begins with %1: its first line names the model.', '`%%agent`');
  return [
    ['markdown', `# ${trans.__('Tools of coding agents')}\n\n${start}`],
    ['code', LOAD],
    ['code', '%tool ls'],
    ['code', '%tool grep "TODO" --limit 20'],
    ['code', '%tool write nbtools-example.txt "The first line."'],
    ['code', '%tools undo'],
    ['markdown', agent]
  ];
}

/** Adds the tiles of the launcher, category *nbtools*: a notebook with tools, and the explorer of session logs. */
export function addTiles(
  app: JupyterFrontEnd,
  launcher: ILauncher | null,
  palette: ICommandPalette | null,
  trans: TranslationBundle
): void {
  const { commands } = app;
  const category = trans.__('nbtools');
  if (!commands.hasCommand('notebook:create-new')) {
    return;
  }
  commands.addCommand(NEW_NOTEBOOK, {
    label: args => (args['isPalette'] ? trans.__('New Notebook with Tools') : trans.__('Notebook with Tools')),
    caption: trans.__('Create a notebook that loads nbtools, with calls to try'),
    icon: new LabIcon({ name: 'nbtools-agent:tools', svgstr: iconSource('hammer') }),
    describedBy: { args: { type: 'object', properties: { cwd: { type: 'string' }, isPalette: { type: 'boolean' } } } },
    execute: async ({ cwd }) => {
      const panel = (await commands.execute('notebook:create-new', { cwd: String(cwd ?? ''), kernelName: await pythonOf(app) })) as
        NotebookPanel | undefined;
      if (panel) {
        await fill(panel, cellsOf(trans));
      }
      return panel;
    }
  });
  palette?.addItem({ command: NEW_NOTEBOOK, category, args: { isPalette: true } });
  launcher?.add({ command: NEW_NOTEBOOK, category, rank: 1 });
  commands.addCommand(LOG_TILE, {
    label: trans.__('Agent Sessions'),
    caption: trans.__('List the sessions of all coding agents on this machine'),
    icon: new LabIcon({ name: 'nbtools-agent:log-tile', svgstr: iconSource('session') }),
    describedBy: { args: { type: 'object', properties: {} } },
    isVisible: () => commands.hasCommand(LIST_SESSIONS),
    execute: () => commands.execute(LIST_SESSIONS)
  });
  launcher?.add({ command: LOG_TILE, category, rank: 2 });
}

/** Adds links to the *Help* menu. */
export function addHelp(menu: IMainMenu, tour: string): void {
  menu.helpMenu.addGroup([{ command: tour }, { command: COMMANDS.keys }, { command: COMMANDS.help }], 15);
}

/** Replaces the empty first cell of a new notebook by the examples. */
async function fill(panel: NotebookPanel, cells: ReturnType<typeof cellsOf>): Promise<void> {
  await panel.context.ready;
  const notebook = panel.content.model?.sharedModel;
  notebook?.transact(() => {
    notebook.insertCells(
      0,
      cells.map(([cell_type, source]) => ({ cell_type, source, metadata: { trusted: true } }))
    );
    notebook.deleteCell(cells.length);
  });
  panel.content.activeCellIndex = cells.findIndex(([, source]) => source === LOAD);
}

/** Returns the name of a Python kernel: the default kernel if it is one, else the first. */
async function pythonOf({ serviceManager: { kernelspecs } }: JupyterFrontEnd): Promise<string> {
  await kernelspecs.ready;
  const { specs } = kernelspecs;
  const python = Object.values(specs?.kernelspecs ?? {}).filter(spec => spec?.language.toLowerCase() === 'python');
  return (python.find(spec => spec?.name === specs?.default) ?? python[0])?.name ?? 'python3';
}
