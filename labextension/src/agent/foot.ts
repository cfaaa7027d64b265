import { element, linkButton } from '../element.js';
import type { Surroundings } from '../tokens.js';
import type { RunFoot, RunWay } from './wire.js';

const MARKS: Partial<Record<RunFoot['state'], string>> = { success: '✓', error: '✕', cancelled: '■' };

/** Puts a cell below the run; null where nothing can be put. */
export type AddCell = (node: Node, cell: string, run: boolean) => void;

/** The line below a run: why it ended, what it used, how to go on. */
export class RunFootView {
  readonly node = element('section', 'nbtools-card nbtools-run');

  constructor(
    private readonly around: Surroundings,
    private readonly add: AddCell | null
  ) {}

  update(part: RunFoot): void {
    this.node.dataset['state'] = part.state;
    this.node.setAttribute('aria-label', this.around.trans.__('End of the run'));
    const why = element('span', 'nbtools-run-why', `${MARKS[part.state] ?? '·'} ${part.status}`);
    const figures = element('span', 'nbtools-record', part.figures.join(' · '));
    const foot = element('div', 'nbtools-foot', why, figures, element('span', 'nbtools-space'), ...part.ways.map(way => this.way(way)));
    this.node.replaceChildren(...(part.problem ? [element('div', 'nbtools-run-problem', part.problem)] : []), foot);
  }

  private way({ label, cell, run }: RunWay): HTMLElement {
    const { add } = this;
    return add ? linkButton(label, () => add(this.node, cell, run), cell.trim()) : element('code', '', cell.trim());
  }
}
