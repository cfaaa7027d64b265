import { element, linkButton } from '../shared/element.js';
import type { CardContext } from '../shared/tokens.js';
import type { RunFoot } from './model.js';

const MARKS: Partial<Record<RunFoot['state'], string>> = { success: '✓', error: '✕', cancelled: '■' };

type Action = RunFoot['actions'][number];

/** The cell that each action inserts.  The source is not part of the output data, because a notebook's outputs can come from anyone. */
const ACTION_CELLS: Readonly<Record<Action, { readonly source: string; readonly run: boolean }>> = {
  continue: { source: '%%agent\n', run: false },
  'play-on': { source: '%agent continue', run: true },
  'open-trace': { source: '%agent trace', run: true }
};

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
    const foot = element('div', 'nbtools-foot', status, figures, element('span', 'nbtools-space'), ...actions);
    this.node.replaceChildren(...(part.problem ? [element('div', 'nbtools-run-problem', part.problem)] : []), foot);
  }

  private action(action: Action): HTMLElement {
    const { trans } = this.context;
    const { source, run } = ACTION_CELLS[action];
    const label = action === 'open-trace' ? trans.__('Open trace') : trans.__('Continue');
    return linkButton(label, () => this.addCell(this.node, source, run), source.trim());
  }
}
