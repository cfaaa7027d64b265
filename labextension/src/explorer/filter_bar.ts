import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { keyHint } from './keymap.js';
import type { TraceChoice, TraceFilter, TraceView } from './model.js';

/** Milliseconds after the last key until the search starts. */
const TYPING_DELAY = 120;

export type FilterChange = Partial<Pick<TraceFilter, 'text' | 'kind' | 'tool' | 'path'>>;

export interface FilterEvents {
  change(change: FilterChange): void;
  /** Removes all filters. */
  clear(): void;
}

/** The search field and the filters by kind, tool and file. */
export class FilterBarView {
  readonly node = element('div', 'nbtools-trace-filters');
  readonly search = element('input', 'nbtools-trace-search');
  private readonly chips = element('div', 'nbtools-trace-chips');
  private readonly tools: HTMLSelectElement;
  private readonly paths: HTMLSelectElement;
  private readonly matchCount = element('span', 'nbtools-trace-found');
  private readonly indexing = element('span', 'nbtools-trace-indexing');
  private readonly clearButton: HTMLButtonElement;
  private typingTimer = 0;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: FilterEvents
  ) {
    this.search.type = 'search';
    this.search.placeholder = trans.__('Search text, paths, output…');
    this.search.setAttribute('aria-label', trans.__('Search this log'));
    this.search.spellcheck = false;
    this.search.addEventListener('input', () => this.onInput());
    this.chips.setAttribute('role', 'group');
    this.chips.setAttribute('aria-label', trans.__('Kinds of steps'));
    this.tools = this.menu(trans.__('Tool'), tool => ({ tool }));
    this.paths = this.menu(trans.__('File'), path => ({ path }));
    this.matchCount.setAttribute('role', 'status');
    this.clearButton = linkButton(trans.__('clear'), () => this.events.clear(), trans.__('Remove all filters'));
    const hint = element('span', 'nbtools-trace-hint', keyHint(trans));
    hint.setAttribute('aria-hidden', 'true');
    this.node.append(
      this.search,
      this.chips,
      element('div', 'nbtools-trace-menus', this.tools, this.paths),
      this.matchCount,
      this.clearButton,
      this.indexing,
      hint
    );
  }

  update(view: TraceView): void {
    const kinds = view.kinds.some(({ key }) => key === '') ? view.kinds : [this.allChoice(view), ...view.kinds];
    this.chips.replaceChildren(...kinds.map(kind => this.chip(kind)));
    setOptions(this.tools, this.trans.__('any tool'), view.tools);
    setOptions(this.paths, this.trans.__('any file'), view.paths);
  }

  /** Shows the current filter and the number of matches. */
  show(filter: TraceFilter, matchCount: string, indexing: string): void {
    for (const chip of this.chips.children) {
      chip.setAttribute('aria-pressed', String((chip as HTMLElement).dataset['key'] === filter.kind));
    }
    if (!this.typingTimer) {
      this.search.value = filter.text;
    }
    selectOption(this.tools, filter.tool);
    selectOption(this.paths, filter.path);
    setText(this.matchCount, matchCount);
    setText(this.indexing, indexing);
    this.clearButton.hidden = !matchCount;
  }

  focus(): void {
    this.search.focus();
    this.search.select();
  }

  /** Empties the search field.  Returns false if it was already empty. */
  clearSearch(): boolean {
    const hadText = this.search.value !== '';
    this.search.value = '';
    if (hadText) {
      this.onInput();
    }
    return hadText;
  }

  dispose(): void {
    window.clearTimeout(this.typingTimer);
  }

  private onInput(): void {
    window.clearTimeout(this.typingTimer);
    this.typingTimer = window.setTimeout(() => {
      this.typingTimer = 0;
      this.events.change({ text: this.search.value.trim() });
    }, TYPING_DELAY);
  }

  private allChoice(view: TraceView): TraceChoice {
    return { key: '', label: this.trans.__('All'), count: view.page.total };
  }

  private chip({ key, label, count }: TraceChoice): HTMLElement {
    const chip = element('button', 'nbtools-trace-chip', label, ' ', element('span', '', count.toLocaleString()));
    chip.type = 'button';
    chip.dataset['key'] = key;
    chip.setAttribute('aria-pressed', String(key === ''));
    chip.addEventListener('click', () => this.events.change({ kind: chip.getAttribute('aria-pressed') === 'true' ? '' : key }));
    return chip;
  }

  private menu(label: string, change: (key: string) => FilterChange): HTMLSelectElement {
    const menu = element('select', 'nbtools-trace-menu');
    menu.setAttribute('aria-label', label);
    menu.addEventListener('change', () => this.events.change(change(menu.value)));
    return menu;
  }
}

function setOptions(menu: HTMLSelectElement, allLabel: string, choices: readonly TraceChoice[]): void {
  const options = choices.filter(({ key }) => key !== '');
  menu.replaceChildren(
    new Option(allLabel, ''),
    ...options.map(({ key, label, count }) => new Option(`${label} (${count.toLocaleString()})`, key))
  );
  menu.hidden = options.length === 0;
}

function selectOption(menu: HTMLSelectElement, key: string): void {
  if (menu.value !== key) {
    menu.value = key;
  }
  menu.classList.toggle('nbtools-trace-chosen', key !== '');
}
