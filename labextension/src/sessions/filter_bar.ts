import type { TranslationBundle } from '@jupyterlab/translation';
import { element, focusedIn, setText } from '../shared/element.js';
import type { ListFilter } from './columns.js';
import type { ListedSessions, SessionChoice } from './listed.js';

/** Milliseconds after the last key until the search starts. */
const TYPING_DELAY = 120;

/** The search field and the filters by agent, project and outcome. */
export class SessionFilters {
  readonly node = element('div', 'nbtools-sessions-filters');
  readonly search = element('input', 'nbtools-trace-search');
  readonly count = element('span', 'nbtools-sessions-count');
  private readonly agents: HTMLSelectElement;
  private readonly projects: HTMLSelectElement;
  private readonly outcomes: HTMLSelectElement;
  private typingTimer = 0;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly change: (change: Partial<ListFilter>) => void
  ) {
    this.search.type = 'search';
    this.search.placeholder = trans.__('Search titles, projects, prompts…');
    this.search.setAttribute('aria-label', trans.__('Search sessions'));
    this.search.spellcheck = false;
    this.search.addEventListener('input', () => {
      window.clearTimeout(this.typingTimer);
      this.typingTimer = window.setTimeout(() => this.change({ text: this.search.value.trim().slice(0, 1000) }), TYPING_DELAY);
    });
    this.agents = this.menu(trans.__('Agent'), agent => ({ agent }));
    this.projects = this.menu(trans.__('Project'), project => ({ project }));
    this.outcomes = this.menu(trans.__('Outcome'), outcome => ({ outcome: outcome as ListFilter['outcome'] }));
    this.outcomes.append(
      new Option(trans.__('any outcome'), ''),
      new Option(trans.__('running now'), 'running'),
      new Option(trans.__('with failed calls'), 'failed'),
      new Option(trans.__('without failed calls'), 'clean'),
      new Option(trans.__('with edits'), 'changed')
    );
    this.count.setAttribute('role', 'status');
    this.node.append(this.search, this.agents, this.projects, this.outcomes, this.count);
  }

  /** Shows the choices of a list and the filter under which it was made. */
  update({ agents, projects }: ListedSessions, filter: ListFilter, count: string): void {
    setChoices(this.agents, this.trans.__('any agent'), agents, filter.agent);
    setChoices(this.projects, this.trans.__('any project'), projects, filter.project);
    this.outcomes.value = filter.outcome;
    [this.agents, this.projects, this.outcomes].forEach(menu => menu.classList.toggle('nbtools-trace-chosen', menu.value !== ''));
    setText(this.count, count);
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
