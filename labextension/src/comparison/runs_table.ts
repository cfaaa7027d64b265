import { element, linkButton, makeScrollable, setText } from '../shared/element.js';
import type { ComparisonContext } from './context.js';
import type { ComparedCell, ComparedOutcomes, ComparedRun, ComparisonView } from './model.js';

const MARKS: Record<ComparedCell['state'], string> = { passed: '✓', failed: '✗', unknown: '?', '': '' };
/** Runs that are in view at once, as long as the person does not want to see all. */
const FEW = 6;

/** The table of runs: what each took, its outcomes, where it parts, and further totals; and the form that adds a column of outcomes. */
export class RunsTable {
  readonly node = element('div', 'nbtools-compare-runs');
  private readonly box = element('div', 'nbtools-compare-box');
  private readonly input = element('input', 'nbtools-trace-search');
  private readonly message = element('span', 'nbtools-compare-message');
  private readonly all = element('button', 'nbtools-link');
  private outcomes: ComparedOutcomes;

  constructor(
    private readonly context: ComparisonContext,
    private readonly view: ComparisonView
  ) {
    this.outcomes = view.outcomes;
    makeScrollable(this.box, context.trans.__('Runs, outcomes and totals'));
    this.message.setAttribute('role', 'status');
    this.node.append(this.form(), this.box);
    this.all.hidden = view.runs.length <= FEW;
    this.all.addEventListener('click', () => this.showAll(this.all.getAttribute('aria-expanded') === 'false'));
    this.showAll(false);
    this.draw();
  }

  /** Shows all runs at once, or a few, among which the person scrolls. */
  private showAll(all: boolean): void {
    const { trans } = this.context;
    this.all.setAttribute('aria-expanded', String(all));
    this.node.classList.toggle('nbtools-compare-all', all);
    setText(this.all, all ? trans.__('▴ few runs at once') : trans.__('▾ all %1 runs at once', this.view.runs.length));
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
      this.message,
      this.all
    );
    this.all.type = 'button';
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

  /** The columns of totals that have a value: those beside the names of the runs, or the others. */
  private totals(leads: boolean): number[] {
    const { totals, runs } = this.view;
    return totals.map((_, at) => at).filter(at => totals[at]!.leads === leads && runs.some(run => run.totals[at] !== ''));
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
    const totals = (leads: boolean) =>
      this.totals(leads).map(at => {
        const cell = head(this.view.totals[at]!.label, this.view.totals[at]!.title);
        cell.classList.add('nbtools-compare-number');
        return cell;
      });
    const remove = (at: number) =>
      linkButton('×', () => void this.request(this.sources().filter((_, i) => i !== at)), trans.__('Remove %1', checks[at]!.source));
    return element(
      'tr',
      '',
      head(trans.__('Run')),
      ...totals(true),
      ...checks.map(({ source, states }, at) => head(source, states, ...(checks.length > 1 ? [' ', remove(at)] : []))),
      head(trans.__('Parts'), trans.__('Where it parts from the baseline')),
      ...totals(false)
    );
  }

  private row(run: ComparedRun, at: number): HTMLElement {
    const { open, openTab, trans } = this.context;
    const title = linkButton(`${run.name}: ${run.title}`, () => open(at, ''), [run.title, run.about, run.log].join('\n'));
    const about = element('span', 'nbtools-compare-about', run.about);
    const name = element('th', '', element('div', 'nbtools-compare-name', title, about));
    if (openTab) {
      const link = linkButton('↗', () => openTab(at), trans.__('Open %1 in a tab', run.name));
      link.setAttribute('aria-label', link.title);
      link.classList.add('nbtools-compare-tab');
      about.before(link);
    }
    name.scope = 'row';
    const parts = element('td', '', run.step ? linkButton(run.parts, () => open(at, run.step)) : run.parts);
    const cells = (this.outcomes.cells[at] ?? []).map(cell => this.cell(cell, at));
    return element('tr', '', name, ...this.amounts(run, true), ...cells, parts, ...this.amounts(run, false));
  }

  /** The cells of totals: the largest of each column is bold, and beside the names bars compare them. */
  private amounts({ totals, shares }: ComparedRun, leads: boolean): HTMLElement[] {
    return this.totals(leads).map(at => {
      const share = shares[at] ?? 0;
      const cell = element('td', 'nbtools-compare-number', share === 1 ? element('b', '', totals[at]!) : totals[at]!);
      if (share === 1) {
        cell.title = this.context.trans.__('The largest');
      }
      if (leads && share > 0) {
        cell.classList.add('nbtools-compare-bar');
        cell.style.setProperty('--nbtools-part', String(share));
      }
      return cell;
    });
  }

  private cell({ state, text, step, inferred, note }: ComparedCell, run: number): HTMLElement {
    const mark = element('span', `nbtools-compare-${state || 'value'}`, MARKS[state] + (inferred ? ' ≈' : ''));
    mark.title = note;
    const content = step ? linkButton(text, () => this.context.open(run, step)) : element('span', '', text);
    content.title = [text, note, step && this.context.trans.__('step %1', step)].filter(Boolean).join('\n');
    return element('td', '', element('div', 'nbtools-compare-outcome', mark, ' ', content));
  }

  private taskRow(title: string): HTMLElement {
    const cell = element('th', 'nbtools-compare-task', title);
    cell.scope = 'rowgroup';
    cell.colSpan = 2 + this.outcomes.checks.length + this.totals(true).length + this.totals(false).length;
    return element('tr', '', cell);
  }

  private rates(title: string, rates: readonly string[]): HTMLElement[] {
    if (!rates.some(Boolean)) {
      return [];
    }
    const name = element('th', 'nbtools-compare-about', title);
    name.scope = 'row';
    const rest = element('td');
    rest.colSpan = 1 + this.totals(false).length;
    const cells = rates.map(rate => element('td', 'nbtools-compare-about', rate));
    return [element('tr', 'nbtools-compare-rates', name, ...this.totals(true).map(() => element('td')), ...cells, rest)];
  }
}
