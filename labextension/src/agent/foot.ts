import { element, linkButton } from '../element.js';
import type { Surroundings } from '../tokens.js';
import type { RunFoot } from './wire.js';

const MARKS: Partial<Record<RunFoot['state'], string>> = { success: '✓', error: '✕', cancelled: '■' };

type Action = RunFoot['actions'][number];

/** The cell that an action puts below the run.  It stands here because a bundle, which names the action, may come from anybody. */
const CELLS: Readonly<Record<Action, { readonly source: string; readonly run: boolean }>> = {
  continue: { source: '%%agent\n', run: false },
  'open-trace': { source: '%agent trace', run: true }
};

/** Puts a cell below the run. */
export type AddCell = (node: Node, cell: string, run: boolean) => void;

/** The line below a run: why it ended, what it used, how to go on. */
export class RunFootView {
  readonly node = element('section', 'nbtools-card nbtools-run');

  constructor(
    private readonly around: Surroundings,
    private readonly add: AddCell
  ) {}

  /** Draws no actions where the output is not `trusted`. */
  update(part: RunFoot, trusted: boolean): void {
    this.node.dataset['state'] = part.state;
    this.node.setAttribute('aria-label', this.around.trans.__('End of the run'));
    const why = element('span', 'nbtools-run-why', `${MARKS[part.state] ?? '·'} ${part.status}`);
    const figures = element('span', 'nbtools-record', part.figures.join(' · '));
    const actions = trusted ? part.actions.map(action => this.action(action)) : [];
    const foot = element('div', 'nbtools-foot', why, figures, element('span', 'nbtools-space'), ...actions);
    this.node.replaceChildren(...(part.problem ? [element('div', 'nbtools-run-problem', part.problem)] : []), foot);
  }

  private action(action: Action): HTMLElement {
    const { trans } = this.around;
    const { source, run } = CELLS[action];
    const labels: Record<Action, string> = { continue: trans.__('go on'), 'open-trace': trans.__('open trace') };
    return linkButton(labels[action], () => this.add(this.node, source, run), source.trim());
  }
}
