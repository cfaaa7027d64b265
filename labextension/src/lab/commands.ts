import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Dialog, type ICommandPalette, showDialog, showErrorMessage } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { showKeySheet } from './key_sheet.js';
import { loadForm } from './forms.js';
import { addCell, loadInNotebook, notebookWithKernel } from './notebook_cells.js';
import { pressInQuestion, showQuestion, stopCall, waitingQuestions } from './questions.js';

/** The permission modes, strictest first; the same as `Mode` in `nbtools/policy/modes.py`. */
const MODES = ['plan', 'dont_ask', 'default', 'auto_edit', 'yolo'] as const;

/** Ids of the commands, in the order of the palette. */
export const COMMANDS = {
  load: 'nbtools:load',
  newCall: 'nbtools:new-call',
  showQuestion: 'nbtools:show-question',
  approve: 'nbtools:approve',
  deny: 'nbtools:deny',
  cancelCall: 'nbtools:cancel-call',
  undo: 'nbtools:undo',
  redo: 'nbtools:redo',
  setMode: 'nbtools:set-mode',
  help: 'nbtools:help',
  keys: 'nbtools:keys'
} as const;

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } } as const;

/** Adds the commands about calls and questions; each is in the palette and can be bound to a key. */
export function addCommands(
  app: JupyterFrontEnd,
  notebooks: INotebookTracker,
  palette: ICommandPalette | null,
  trans: TranslationBundle
): void {
  const { commands } = app;
  const category = trans.__('nbtools');
  const withKernel = () => notebookWithKernel(notebooks) !== null;
  const inNotebook = (work: (panel: NotebookPanel) => unknown) => () => {
    const panel = notebookWithKernel(notebooks);
    return panel && work(panel);
  };
  const add = (id: string, label: string, caption: string, isEnabled: () => boolean, execute: () => unknown) => {
    commands.addCommand(id, { label, caption, isEnabled, execute, describedBy: NO_ARGUMENTS });
    palette?.addItem({ command: id, category });
  };
  const always = () => true;
  const isWaiting = () => waitingQuestions(notebooks).length > 0;

  add(
    COMMANDS.load,
    trans.__('Load nbtools in This Notebook'),
    trans.__('Run %load_ext nbtools, in a new first cell where the notebook has none'),
    withKernel,
    inNotebook(loadInNotebook)
  );
  add(
    COMMANDS.newCall,
    trans.__('New Call…'),
    trans.__('Choose a tool, fill in a form, and insert or run its cell'),
    withKernel,
    inNotebook(async panel => {
      const kernel = panel.sessionContext.session!.kernel!;
      const notebook = panel.title.label;
      const form = await loadForm().catch(() => null);
      if (form === null) {
        await showErrorMessage(trans.__('New Call…'), trans.__('The form could not be loaded. Reload the page.'));
        return;
      }
      const call = await form.newCall({ kernel, notebook, trans, load: () => loadInNotebook(panel) });
      call && (await addCell(panel, call.source, call.run));
    })
  );
  add(
    COMMANDS.showQuestion,
    trans.__('Show the Waiting Question'),
    trans.__('Go to the question that waits for an answer; again for the next one'),
    isWaiting,
    () => showQuestion(app, notebooks)
  );
  add(
    COMMANDS.approve,
    trans.__('Approve the Question Once'),
    trans.__('Approve the question that is in view; one that is not in view is shown first'),
    isWaiting,
    () => pressInQuestion(app, notebooks, '.nbtools-approve')
  );
  add(
    COMMANDS.deny,
    trans.__('Deny the Question'),
    trans.__('Deny the question that is in view; one that is not in view is shown first'),
    isWaiting,
    () => pressInQuestion(app, notebooks, '.nbtools-cancel')
  );
  add(
    COMMANDS.cancelCall,
    trans.__('Cancel the Running Call'),
    trans.__('Cancel the call that runs in this notebook'),
    withKernel,
    inNotebook(stopCall)
  );
  add(
    COMMANDS.undo,
    trans.__('Undo the Last Change'),
    trans.__('Undo the changes of the last call that changed files, in a new cell'),
    withKernel,
    inNotebook(panel => addCell(panel, '%tools undo', true))
  );
  add(
    COMMANDS.redo,
    trans.__('Redo the Undone Change'),
    trans.__('Undo the last undo, in a new cell'),
    withKernel,
    inNotebook(panel => addCell(panel, '%tools redo', true))
  );
  addModes(app, notebooks, palette, trans);
  add(
    COMMANDS.help,
    trans.__('Help on Tools'),
    trans.__('List the tools and the sub-commands of %tools, in a new cell'),
    withKernel,
    inNotebook(panel => addCell(panel, '%tool\n%tools help', true))
  );
  add(
    COMMANDS.keys,
    trans.__('Keyboard Shortcuts of nbtools'),
    trans.__('Show the keys of questions, the explorer and the commands of nbtools'),
    always,
    () => showKeySheet(commands, trans)
  );
}

/** Adds the command that sets the permission mode, once for each mode in the palette.  A mode that asks less needs a confirmation. */
function addModes(app: JupyterFrontEnd, notebooks: INotebookTracker, palette: ICommandPalette | null, trans: TranslationBundle): void {
  const labels = {
    plan: trans.__('plan: only calls that change nothing'),
    dont_ask: trans.__('dont_ask: deny what would need approval'),
    default: trans.__('default: ask before changes'),
    auto_edit: trans.__('auto_edit: edit files without asking'),
    yolo: trans.__('yolo: allow everything that no rule denies')
  };
  const modeOf = (args: { mode?: unknown }) => MODES.find(mode => mode === args.mode);
  app.commands.addCommand(COMMANDS.setMode, {
    label: args => {
      const mode = modeOf(args);
      return mode ? trans.__('Set Mode %1', labels[mode]) : trans.__('Set Mode…');
    },
    caption: trans.__('Set the permission mode of this notebook, in a new cell'),
    describedBy: { args: { type: 'object', properties: { mode: { type: 'string', enum: [...MODES] } }, required: ['mode'] } },
    isEnabled: args => notebookWithKernel(notebooks) !== null && modeOf(args) !== undefined,
    execute: async args => {
      const panel = notebookWithKernel(notebooks);
      const mode = modeOf(args);
      if (panel && mode && (MODES.indexOf(mode) <= MODES.indexOf('default') || (await confirmed(labels[mode], trans)))) {
        await addCell(panel, `%tools mode ${mode}`, true);
      }
    }
  });
  MODES.forEach(mode => palette?.addItem({ command: COMMANDS.setMode, category: trans.__('nbtools'), args: { mode } }));
}

async function confirmed(mode: string, trans: TranslationBundle): Promise<boolean> {
  const { button } = await showDialog({
    title: trans.__('Ask less often?'),
    body: trans.__('Mode %1. Tools then change files or run programs in this notebook without asking first.', mode),
    buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: trans.__('Set Mode') })],
    defaultButton: 0
  });
  return button.accept;
}
