import { element, setText } from '../shared/element.js';
import type { ComparisonContext } from './context.js';
import type { ComparisonView } from './model.js';
import { RunsTable } from './runs_table.js';
import { StepsGrid } from './steps_grid.js';

/** A comparison: the table of runs with outcomes and totals, and the aligned steps.  It must be inside `.nbtools-rendered`. */
export class ComparisonPage {
  readonly node = element('article', 'nbtools-compare');
  private readonly message = element('span', 'nbtools-compare-message');
  private steps!: StepsGrid;
  private readonly keyListener = (event: KeyboardEvent) => this.onKey(event);

  constructor(
    private readonly context: ComparisonContext,
    view: ComparisonView
  ) {
    this.node.setAttribute('aria-label', context.trans.__('Comparison'));
    this.message.setAttribute('role', 'status');
    window.addEventListener('keydown', this.keyListener, true);
    this.draw(view);
  }

  dispose(): void {
    window.removeEventListener('keydown', this.keyListener, true);
    this.steps.dispose();
  }

  focus(): void {
    this.steps.focus();
  }

  private draw(view: ComparisonView): void {
    const { trans } = this.context;
    const baseline = element('select', 'nbtools-trace-menu');
    baseline.setAttribute('aria-label', trans.__('Baseline'));
    baseline.append(
      ...view.runs.map(({ name, title }, at) => new Option(trans.__('baseline %1', `${name}: ${title.slice(0, 60)}`), String(at)))
    );
    baseline.value = String(view.baseline);
    baseline.addEventListener('change', () => void this.against(Number(baseline.value)));
    const facts = element('span', 'nbtools-compare-facts', view.facts);
    const keys = trans.__('↑ ↓ ← → move, Enter opens, p and P go to where runs part');
    this.steps = new StepsGrid(this.context, view);
    this.node.replaceChildren(
      element('div', 'nbtools-compare-top', facts, baseline, this.message),
      new RunsTable(this.context, view).node,
      this.steps.node,
      element('div', 'nbtools-compare-foot', keys)
    );
  }

  private async against(baseline: number): Promise<void> {
    const reply = await this.context.query({ type: 'baseline', baseline });
    setText(this.message, reply.type === 'problem' ? reply.text : '');
    if (reply.type === 'comparison') {
      this.steps.dispose();
      this.draw(reply);
      this.node.querySelector('select')?.focus();
    }
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.composedPath()[0];
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
    if (!(target instanceof Element) || !this.node.contains(target) || modified || event.key === 'Tab') {
      return;
    }
    event.stopImmediatePropagation(); // Jupyter has shortcuts of one letter
    if (target === this.steps.node && this.steps.onKey(event.key)) {
      event.preventDefault();
    }
  }
}
