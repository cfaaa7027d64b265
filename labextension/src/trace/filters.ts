import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../element.js';
import { keyHint } from './keymap.js';
import type { TraceChoice, TraceFilter, TraceView } from './wire.js';

/** Milliseconds without a key after which a text is looked for. */
const PAUSE = 120;

export type Narrowing = Partial<Pick<TraceFilter, 'text' | 'kind' | 'tool' | 'path'>>;

export interface FilterEvents {
  narrow(change: Narrowing): void;
  /** Lists everything again. */
  widen(): void;
}

/** What the list is narrowed by. */
export class FiltersView {
  readonly node = element('div', 'nbtools-trace-filters');
  readonly search = element('input', 'nbtools-trace-search');
  private readonly chips = element('div', 'nbtools-trace-chips');
  private readonly tools: HTMLSelectElement;
  private readonly paths: HTMLSelectElement;
  private readonly found = element('span', 'nbtools-trace-found');
  private readonly indexing = element('span', 'nbtools-trace-indexing');
  private readonly clear: HTMLButtonElement;
  private typing = 0;

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
    this.found.setAttribute('role', 'status');
    this.clear = linkButton(trans.__('clear'), () => this.events.widen(), trans.__('List everything again'));
    const hint = element('span', 'nbtools-trace-hint', keyHint(trans));
    hint.setAttribute('aria-hidden', 'true');
    this.node.append(this.search, this.chips, this.tools, this.paths, this.found, this.clear, this.indexing, element('span', 'nbtools-space'), hint);
  }

  update(view: TraceView): void {
    const kinds = view.kinds.some(({ key }) => key === '') ? view.kinds : [this.all(view), ...view.kinds];
    this.chips.replaceChildren(...kinds.map(kind => this.chip(kind)));
    fill(this.tools, this.trans.__('any tool'), view.tools);
    fill(this.paths, this.trans.__('any file'), view.paths);
  }

  /** Shows the filter that is in force, and what it leaves. */
  show(filter: TraceFilter, found: string, indexing: string): void {
    for (const chip of this.chips.children) {
      chip.setAttribute('aria-pressed', String((chip as HTMLElement).dataset['key'] === filter.kind));
    }
    if (!this.typing) {
      this.search.value = filter.text;
    }
    choose(this.tools, filter.tool);
    choose(this.paths, filter.path);
    setText(this.found, found);
    setText(this.indexing, indexing);
    this.clear.hidden = !found;
  }

  focus(): void {
    this.search.focus();
    this.search.select();
  }

  /** Empties the search field; false where there was nothing in it. */
  empty(): boolean {
    const filled = this.search.value !== '';
    this.search.value = '';
    if (filled) {
      this.onInput();
    }
    return filled;
  }

  dispose(): void {
    window.clearTimeout(this.typing);
  }

  private onInput(): void {
    window.clearTimeout(this.typing);
    this.typing = window.setTimeout(() => {
      this.typing = 0;
      this.events.narrow({ text: this.search.value.trim() });
    }, PAUSE);
  }

  private all(view: TraceView): TraceChoice {
    return { key: '', label: this.trans.__('All'), count: view.page.total };
  }

  private chip({ key, label, count }: TraceChoice): HTMLElement {
    const chip = element('button', 'nbtools-trace-chip', label, ' ', element('span', '', count.toLocaleString()));
    chip.type = 'button';
    chip.dataset['key'] = key;
    chip.setAttribute('aria-pressed', String(key === ''));
    chip.addEventListener('click', () => this.events.narrow({ kind: chip.getAttribute('aria-pressed') === 'true' ? '' : key }));
    return chip;
  }

  private menu(label: string, change: (key: string) => Narrowing): HTMLSelectElement {
    const menu = element('select', 'nbtools-trace-menu');
    menu.setAttribute('aria-label', label);
    menu.addEventListener('change', () => this.events.narrow(change(menu.value)));
    return menu;
  }
}

function fill(menu: HTMLSelectElement, all: string, choices: readonly TraceChoice[]): void {
  const known = choices.filter(({ key }) => key !== '');
  menu.replaceChildren(new Option(all, ''), ...known.map(({ key, label, count }) => new Option(`${label} (${count.toLocaleString()})`, key)));
  menu.hidden = known.length === 0;
}

function choose(menu: HTMLSelectElement, key: string): void {
  if (menu.value !== key) {
    menu.value = key;
  }
  menu.classList.toggle('nbtools-trace-chosen', key !== '');
}
