import { element, linkButton, makeScrollable, setText } from '../shared/element.js';
import type { ComparisonContext } from './context.js';
import type { ComparedCell, ComparedOutcomes, ComparedRun, ComparisonView } from './model.js';

const MARKS: Record<ComparedCell['state'], string> = { passed: '✓', failed: '✗', unknown: '?', '': '' };

/** The table of runs: where each parts, its outcomes and its totals; and the form that adds a column of outcomes. */
export class RunsTable {
  readonly node = element('div', 'nbtools-compare-runs');
  private readonly box = element('div', 'nbtools-compare-box');
  private readonly input = element('input', 'nbtools-trace-search');
  private readonly message = element('span', 'nbtools-compare-message');
  private outcomes: ComparedOutcomes;

  constructor(
    private readonly context: ComparisonContext,
    private readonly view: ComparisonView
  ) {
    this.outcomes = view.outcomes;
    makeScrollable(this.box, context.trans.__('Runs, outcomes and totals'));
    this.message.setAttribute('role', 'status');
    this.node.append(this.box, this.form());
    this.draw();
  }

  private form(): HTMLElement {
    const { trans } = this.context;
    const kinds = element('select', 'nbtools-trace-menu');
    kinds.setAttribute('aria-label', trans.__('Kind of check'));
    kinds.append(
      new Option(trans.__('add a check…'), ''),
      ...this.view.forms.map(({ form, states }) => new Option(`${form} – ${states}`, form))
    );
    kinds.addEventListener('change', () => this.choose(kinds));
    this.input.setAttribute('aria-label', trans.__('Check'));
    this.input.placeholder = this.view.forms[1]?.form ?? '';
    this.input.maxLength = 1000;
    this.input.spellcheck = false;
    const form = element(
      'form',
      'nbtools-compare-form',
      kinds,
      this.input,
      element('button', 'nbtools-link', trans.__('add')),
      this.message
    );
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.input.value.trim() && void this.add(this.input.value.trim());
    });
    return form;
  }

  /** Begins a check of a kind, or adds it if there is nothing to complete. */
  private choose(kinds: HTMLSelectElement): void {
    const form = kinds.value;
    const blank = /[A-Z]{4,}( …)?/.exec(form);
    kinds.value = '';
    if (blank === null) {
      void this.add(form);
    } else {
      this.input.value = form;
      this.input.focus();
      this.input.setSelectionRange(blank.index, blank.index + blank[0].length);
    }
  }

  private async add(check: string): Promise<void> {
    (await this.request([...this.sources(), check])) && (this.input.value = '');
  }

  private sources(): string[] {
    return this.outcomes.checks.map(({ source }) => source);
  }

  private async request(checks: readonly string[]): Promise<boolean> {
    const { client, problemOf } = this.context;
    const { explorer, baseline } = this.view;
    try {
      this.outcomes = await client.request('comparison.outcomes', { explorer, baseline, checks });
      setText(this.message, '');
      this.draw();
      return true;
    } catch (error) {
      setText(this.message, problemOf(error));
      return false;
    }
  }

  private draw(): void {
    const { runs } = this.view;
    const { checks, tasks } = this.outcomes;
    const body = element('tbody');
    const all = { title: '', runs: runs.map((_, at) => at), rates: [] as readonly string[] };
    for (const task of tasks.length ? tasks : [all]) {
      task.title && body.append(this.taskRow(task.title));
      body.append(...task.runs.map(at => this.row(runs[at]!, at)));
      body.append(...this.rates(this.context.trans.__('passed, 95 % interval'), task.rates));
    }
    const { trans } = this.context;
    const rates = checks.map(({ rate }) => rate);
    body.append(...this.rates(tasks.length ? trans.__('all tasks') : trans.__('passed, 95 % interval'), rates));
    const { scrollLeft, scrollTop } = this.box;
    this.box.replaceChildren(element('table', '', element('thead', '', this.head()), body));
    this.box.scrollTo(scrollLeft, scrollTop);
  }

  /** The columns of totals that have a value. */
  private totals(): number[] {
    const { totals, runs } = this.view;
    return totals.map((_, at) => at).filter(at => runs.some(run => run.totals[at] !== ''));
  }

  private head(): HTMLElement {
    const { trans } = this.context;
    const { checks } = this.outcomes;
    const head = (text: string, title = '', ...more: (Node | string)[]) => {
      const cell = element('th', '', text, ...more);
      cell.scope = 'col';
      cell.title = title;
      return cell;
    };
    const remove = (at: number) =>
      linkButton('×', () => void this.request(this.sources().filter((_, i) => i !== at)), trans.__('Remove %1', checks[at]!.source));
    return element(
      'tr',
      '',
      head(trans.__('Run')),
      head(trans.__('Parts'), trans.__('Where it parts from the baseline')),
      ...checks.map(({ source, states }, at) => head(source, states, ...(checks.length > 1 ? [' ', remove(at)] : []))),
      ...this.totals().map(at => head(this.view.totals[at]!.label, this.view.totals[at]!.title))
    );
  }

  private row(run: ComparedRun, at: number): HTMLElement {
    const { open } = this.context;
    const title = linkButton(`${run.name}: ${run.title}`, () => open(at, ''), `${run.title}\n${run.about}`);
    const about = element('div', 'nbtools-compare-about', run.about);
    const name = element('th', '', title, about);
    name.scope = 'row';
    const parts = element('td', '', run.step ? linkButton(run.parts, () => open(at, run.step)) : run.parts);
    const totals = this.totals().map(total => element('td', 'nbtools-compare-number', run.totals[total]!));
    return element('tr', '', name, parts, ...(this.outcomes.cells[at] ?? []).map(cell => this.cell(cell, at)), ...totals);
  }

  private cell({ state, text, step }: ComparedCell, run: number): HTMLElement {
    const mark = element('span', `nbtools-compare-${state || 'value'}`, MARKS[state]);
    const content = step ? linkButton(text, () => this.context.open(run, step)) : element('span', '', text);
    content.title = step ? `${text}\n${this.context.trans.__('step %1', step)}` : text;
    return element('td', '', element('div', 'nbtools-compare-outcome', mark, ' ', content));
  }

  private taskRow(title: string): HTMLElement {
    const cell = element('th', 'nbtools-compare-task', title);
    cell.scope = 'rowgroup';
    cell.colSpan = 2 + this.outcomes.checks.length + this.totals().length;
    return element('tr', '', cell);
  }

  private rates(title: string, rates: readonly string[]): HTMLElement[] {
    if (!rates.some(Boolean)) {
      return [];
    }
    const name = element('th', 'nbtools-compare-about', title);
    name.scope = 'row';
    const rest = element('td');
    rest.colSpan = Math.max(this.totals().length, 1);
    const cells = rates.map(rate => element('td', 'nbtools-compare-about', rate));
    return [element('tr', 'nbtools-compare-rates', name, element('td'), ...cells, rest)];
  }
}
