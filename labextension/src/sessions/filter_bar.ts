import type { TranslationBundle } from '@jupyterlab/translation';
import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import type { ListFilter, ListState, ReviewFilter } from './columns.js';
import { PeriodMenu } from './period.js';
import type { ListedSessions, SessionChoice } from './listed.js';

/** Milliseconds after the last key until the search starts. */
const TYPING_DELAY = 120;

/** The search field and the filters by agent, project, outcome and verdict. */
export class SessionFilters {
  readonly node = element('div', 'nbtools-sessions-filters');
  readonly search = element('input', 'nbtools-trace-search');
  private readonly only: HTMLButtonElement;
  readonly count = element('span', 'nbtools-sessions-count');
  private readonly agents: HTMLSelectElement;
  private readonly projects: HTMLSelectElement;
  private readonly outcomes: HTMLSelectElement;
  readonly period: PeriodMenu;
  private readonly verdicts: HTMLSelectElement;
  private typingTimer = 0;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly change: (change: Partial<ListFilter>) => void
  ) {
    this.search.type = 'search';
    this.search.placeholder = trans.__('Search titles and contents…');
    this.search.setAttribute('aria-label', trans.__('Search sessions'));
    this.search.spellcheck = false;
    this.search.addEventListener('input', () => {
      window.clearTimeout(this.typingTimer);
      this.typingTimer = window.setTimeout(() => this.change({ text: this.search.value.trim().slice(0, 1000) }), TYPING_DELAY);
    });
    this.agents = this.menu(trans.__('Agent'), agent => ({ agent }));
    this.projects = this.menu(trans.__('Project'), choice => projectChange(choice));
    this.outcomes = this.menu(trans.__('Outcome'), outcome => ({ outcome: outcome as ListFilter['outcome'] }));
    this.outcomes.append(
      new Option(trans.__('any outcome'), ''),
      new Option(trans.__('running now'), 'running'),
      new Option(trans.__('with failed calls'), 'failed'),
      new Option(trans.__('without failed calls'), 'clean'),
      new Option(trans.__('with edits'), 'changed')
    );
    this.only = linkButton('', () => this.change({ only: null }), trans.__('Lists the others, too'));
    this.only.hidden = true;
    this.period = new PeriodMenu(trans, change);
    this.verdicts = this.menu(trans.__('Verdict'), review => ({ review: review as ReviewFilter }));
    this.verdicts.append(
      new Option(trans.__('any verdict'), ''),
      new Option(trans.__('in this review'), 'queue'),
      new Option(trans.__('unreviewed'), 'unreviewed'),
      new Option(trans.__('disagree'), 'disagree'),
      ...['pass', 'fail', 'defer'].map(verdict => new Option(verdict, verdict))
    );
    this.count.setAttribute('role', 'status');
    this.node.append(this.search, this.agents, this.projects, this.outcomes, this.verdicts, this.period.node, this.only, this.count);
  }

  /** Shows the choices of a list and the filter under which it was made. */
  update({ agents, projects, repositories }: ListedSessions, { filter, isReviewed }: ListState, count: string): void {
    setChoices(this.agents, this.trans.__('any agent'), agents, filter.agent);
    setChoices(this.projects, this.trans.__('any project'), withRepositories(projects, repositories), chosenProject(filter));
    this.drawOnly(filter);
    this.outcomes.value = filter.outcome;
    this.period.update(filter);
    this.verdicts.value = filter.review ?? '';
    this.verdicts.hidden = !isReviewed && !filter.review;
    [this.agents, this.projects, this.outcomes, this.verdicts].forEach(menu =>
      menu.classList.toggle('nbtools-trace-chosen', menu.value !== '')
    );
    setText(this.count, count);
  }

  private drawOnly({ only }: ListFilter): void {
    this.only.hidden = !only;
    setText(this.only, only ? this.trans.__('only %1 ×', only.label) : '');
  }

  /** Empties the search field.  Returns false if it was empty. */
  clear(): boolean {
    const { value } = this.search;
    this.search.value = '';
    value && this.change({ text: '' });
    return value !== '';
  }

  dispose(): void {
    window.clearTimeout(this.typingTimer);
  }

  private menu(label: string, change: (key: string) => Partial<ListFilter>): HTMLSelectElement {
    const menu = element('select', 'nbtools-trace-menu');
    menu.setAttribute('aria-label', label);
    menu.addEventListener('change', () => this.change(change(menu.value)));
    return menu;
  }
}

/** Marks the choice of a repository, whose folder is also a choice. */
const REPOSITORY = 'repository:';

function projectChange(choice: string): Partial<ListFilter> {
  return choice.startsWith(REPOSITORY) ? { project: '', repository: choice.slice(REPOSITORY.length) } : { project: choice, repository: '' };
}

function chosenProject({ project, repository }: ListFilter): string {
  return repository ? `${REPOSITORY}${repository}` : project;
}

/** Puts repositories with several folders, which their worktrees are too, before these. */
function withRepositories(projects: readonly SessionChoice[], repositories: readonly SessionChoice[]): SessionChoice[] {
  const known = new Map(repositories.map(one => [one.key, one]));
  const sizes = new Map<string, number>();
  projects.forEach(({ group }) => sizes.set(group, (sizes.get(group) ?? 0) + 1));
  return projects.flatMap((project, i) => {
    const isInGroup = project.group !== '' && sizes.get(project.group)! > 1;
    const repository = isInGroup && projects[i - 1]?.group !== project.group ? known.get(project.group) : undefined;
    const folder = isInGroup ? { ...project, label: `\u00a0\u00a0${project.label}` } : project;
    return [...(repository ? [{ ...repository, key: `${REPOSITORY}${repository.key}`, label: `${repository.label} …` }] : []), folder];
  });
}

function setChoices(menu: HTMLSelectElement, all: string, choices: readonly SessionChoice[], chosen: string): void {
  if (focusedIn(menu)) {
    return; // an open menu would close
  }
  const missing = chosen && !choices.some(({ key }) => key === chosen) ? [new Option(chosen, chosen)] : [];
  menu.replaceChildren(
    new Option(all, ''),
    ...missing,
    ...choices.map(({ key, label, count }) => new Option(`${label} (${count.toLocaleString()})`, key))
  );
  menu.value = chosen;
}
