import { element, linkButton } from '../shared/element.js';
import type { CardContext } from '../shared/tokens.js';
import { untilInput } from '../shared/until_input.js';
import type { RunFoot } from './model.js';

const MARKS: Partial<Record<RunFoot['state'], string>> = { success: '✓', error: '✕', cancelled: '■' };

type Action = RunFoot['actions'][number];

/**
 * The cell that each action inserts; that of `continue` waits for a task, the others run.
 *
 * The source is not part of the output data, because a notebook's outputs can come from anyone.
 */
const ACTION_CELLS: Readonly<Record<Action, string>> = {
  continue: '%%agent\n',
  'play-on': '%agent continue',
  'open-trace': '%agent trace'
};

/** The *Continue* of a recorded run that was pressed last: the next one then takes the focus, so that its keys work. */
let pressed: HTMLElement | null = null;

/** Inserts a cell below the run. */
export type AddCell = (node: Node, cell: string, run: boolean) => void;

/** The line below a run: why it ended, what it used, and actions to continue. */
export class RunFootView {
  readonly node = element('article', 'nbtools-card nbtools-run');

  constructor(
    private readonly context: CardContext,
    private readonly addCell: AddCell
  ) {}

  /** Draws the actions only if the output is `trusted`. */
  update(part: RunFoot, trusted: boolean): void {
    this.node.dataset['state'] = part.state;
    this.node.setAttribute('aria-label', this.context.trans.__('End of the run'));
    const status = element('span', 'nbtools-run-why', `${MARKS[part.state] ?? '·'} ${part.status}`);
    const figures = element('span', 'nbtools-record', part.figures.join(' · '));
    const actions = trusted ? part.actions.map(actionLink => this.action(actionLink)) : [];
    const changed = part.files.length ? [this.changes(part, trusted)] : [];
    const foot = element('div', 'nbtools-foot', status, figures, element('span', 'nbtools-space'), ...actions);
    this.node.replaceChildren(...(part.problem ? [element('div', 'nbtools-run-problem', part.problem)] : []), ...changed, foot);
    queueMicrotask(() => showEnd(this.node)); // the cell's number would tell on the next frame that it has ended
  }

  /** The files that the run changed, and the link that takes all of it back. */
  private changes({ files, undo }: RunFoot, trusted: boolean): HTMLElement {
    const { trans } = this.context;
    const items = files.map(({ path, added, removed }) => {
      const counts = added === null || removed === null ? '' : ` +${added} −${removed}`;
      return element('li', '', element('code', '', path), element('span', 'nbtools-quiet', counts));
    });
    const label = element('span', 'nbtools-run-changed', trans._n('%1 file changed', '%1 files changed', files.length, files.length));
    const undoAll = undo && trusted ? [linkButton(trans.__('undo all'), () => this.context.runAction(this.node, undo), undo.magic)] : [];
    return element('div', 'nbtools-run-files', label, element('ul', '', ...items), ...undoAll);
  }

  private action(action: Action): HTMLElement {
    const { trans } = this.context;
    const source = ACTION_CELLS[action];
    const label = action === 'open-trace' ? trans.__('Open trace') : trans.__('Continue');
    const button = linkButton(
      label,
      ({ detail }) => {
        if (detail < 2) {
          // not the second click of a double click
          pressed = action === 'play-on' ? button : null;
          this.addCell(this.node, source, action !== 'continue');
        }
      },
      source.trim()
    );
    action === 'play-on' && addKeys(button, trans.__('Space or →'));
    return button;
  }
}

/** Scrolls the last message of a run that ends now, and its foot, into view, unless the person is at work in another cell. */
function showEnd(foot: HTMLElement): void {
  const cell = foot.closest('.jp-Cell');
  const isEnding = cell?.querySelector('.jp-InputPrompt')?.textContent?.trim() === '[*]:';
  const active = document.activeElement;
  const isElsewhere = active instanceof HTMLElement && active.isContentEditable && !cell?.contains(active);
  if (!cell || !isEnding || isElsewhere) {
    return;
  }
  void untilInput(() => {
    const message = [...cell.querySelectorAll('.nbtools-run-said')].at(-1);
    foot.scrollIntoView({ block: 'nearest' });
    if (message && message.clientHeight < window.innerHeight / 2) {
      message.scrollIntoView({ block: 'nearest' });
    }
  });
}

/** Lets Space (as of every button) and → press *Continue* while it has the focus, which it takes if the last one was pressed. */
function addKeys(button: HTMLButtonElement, keys: string): void {
  button.dataset['keys'] = keys; // shown while it has the focus
  button.ariaKeyShortcuts = 'Space ArrowRight';
  button.dataset['lmSuppressShortcuts'] = ''; // JupyterLab would scroll with Space, and open headings with →
  button.addEventListener('keydown', event => {
    const { key, repeat, altKey, ctrlKey, metaKey, shiftKey } = event;
    key === 'ArrowRight' && !(repeat || altKey || ctrlKey || metaKey || shiftKey) && button.click();
  });
  const last = pressed;
  pressed = null;
  // Takes the focus only from a cell or notebook that contains one of the two buttons: the person then is neither typing nor elsewhere.
  last && requestAnimationFrame(() => [button, last].some(one => document.activeElement?.contains(one)) && keepFocused(button));
}

/** Gives `button` the focus, and keeps it in view as long as it has it and the person does nothing. */
function keepFocused(button: HTMLButtonElement): void {
  button.focus();
  void untilInput(() => document.activeElement === button && button.scrollIntoView({ block: 'nearest' }));
}
