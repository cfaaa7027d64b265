import type { Result } from '../shared/channel.js';
import { element, setText } from '../shared/element.js';
import { type ComparisonContext, FIRST_STEPS } from './context.js';
import type { ComparisonView } from './model.js';
import { RunsTable } from './runs_table.js';
import { StepRows } from './step_rows.js';
import { StepsGrid } from './steps_grid.js';

/** Steps in the requests after the first one. */
const MORE_STEPS = 25_000;

/** A comparison: the aligned steps, and the table of runs with totals and outcomes.  It must be inside `.nbtools-rendered`. */
export class ComparisonPage {
  readonly node = element('article', 'nbtools-compare');
  private readonly message = element('span', 'nbtools-compare-message');
  private grid!: StepsGrid;
  private disposed = false;
  private readonly keyListener = (event: KeyboardEvent) => this.onKey(event);

  /** `first` is the kernel's first answer, if it was asked already. */
  constructor(
    private readonly context: ComparisonContext,
    view: ComparisonView,
    first: Result<'comparison.rows'> | null = null
  ) {
    this.node.setAttribute('aria-label', context.trans.__('Comparison'));
    this.message.setAttribute('role', 'status');
    window.addEventListener('keydown', this.keyListener, true);
    this.draw(view, first);
  }

  dispose(): void {
    this.disposed = true;
    window.removeEventListener('keydown', this.keyListener, true);
    this.grid.dispose();
  }

  focus(): void {
    this.grid.focus();
  }

  private draw(view: ComparisonView, first: Result<'comparison.rows'> | null): void {
    const { trans } = this.context;
    const baseline = element('select', 'nbtools-trace-menu');
    baseline.setAttribute('aria-label', trans.__('Baseline'));
    baseline.append(
      ...view.runs.map(({ name, title }, at) => new Option(trans.__('baseline %1', `${name}: ${title.slice(0, 60)}`), String(at)))
    );
    baseline.value = String(view.baseline);
    baseline.addEventListener('change', () => void this.against(view, Number(baseline.value)));
    const facts = element('span', 'nbtools-compare-facts', view.facts);
    const keys = trans.__('↑ ↓ ← → move, Enter opens, p and P go to where runs part');
    const steps = new StepRows(view.runs.length);
    const grid = new StepsGrid(this.context, view, steps);
    this.grid = grid;
    this.node.replaceChildren(
      element('div', 'nbtools-compare-top', facts, baseline, this.message),
      grid.node,
      element('div', 'nbtools-compare-foot', keys),
      new RunsTable(this.context, view).node
    );
    void this.load(view, steps, grid, first);
  }

  private async load(view: ComparisonView, steps: StepRows, grid: StepsGrid, first: Result<'comparison.rows'> | null): Promise<void> {
    const { client, problemOf } = this.context;
    const { explorer, baseline } = view;
    try {
      for (let reply = first; steps.loaded === 0 || steps.loaded < steps.total; reply = null) {
        const count = steps.loaded ? MORE_STEPS : FIRST_STEPS;
        reply ??= await client.request('comparison.rows', { explorer, baseline, first: steps.loaded, count });
        if (this.disposed || this.grid !== grid || !steps.add(reply) || reply.block.count === 0) {
          break;
        }
        grid.update();
      }
    } catch (error) {
      setText(this.message, problemOf(error));
    }
  }

  private async against(view: ComparisonView, baseline: number): Promise<void> {
    const { client, problemOf } = this.context;
    try {
      const other = await client.request('comparison.baseline', { explorer: view.explorer, baseline });
      if (this.disposed) {
        return;
      }
      setText(this.message, '');
      this.grid.dispose();
      this.draw(other, null);
      this.node.querySelector('select')?.focus();
    } catch (error) {
      setText(this.message, problemOf(error));
    }
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.composedPath()[0];
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
    if (!(target instanceof Element) || !this.node.contains(target) || modified || event.key === 'Tab') {
      return;
    }
    event.stopImmediatePropagation(); // Jupyter has shortcuts of one letter
    if (target === this.grid.node && this.grid.onKey(event.key)) {
      event.preventDefault();
    }
  }
}
