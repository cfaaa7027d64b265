import type { TranslationBundle } from '@jupyterlab/translation';
import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import { chooseChip, NO_FILTER, toggleChip, type TraceFilter } from './filter.js';
import { keyHint } from './keymap.js';
import type { Choice, OfferedFacet } from './listing.js';

/** Milliseconds after the last key until the search starts. */
const TYPING_DELAY = 120;

/** The key of the chip that removes the range; no facet has it. */
const RANGE = 'range';

export type FilterChange = Partial<TraceFilter>;

export interface FilterEvents {
  change(change: FilterChange): void;
  /** Removes all filters. */
  clear(): void;
}

/** The search field, and the chips and menus by which the list is filtered. */
export class FilterBarView {
  readonly node = element('div', 'nbtools-trace-filters');
  /** How many steps are listed; it stands in the line above, so that the chips need not move for it. */
  readonly status = element('span', 'nbtools-trace-status');
  readonly search = element('input', 'nbtools-trace-search');
  private readonly chips = element('div', 'nbtools-trace-chips');
  private readonly menus = element('div', 'nbtools-trace-menus');
  private readonly matchCount = element('span', 'nbtools-trace-found');
  private readonly indexing = element('span', 'nbtools-trace-indexing');
  private readonly clearButton: HTMLButtonElement;
  private filter = NO_FILTER;
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
    this.chips.setAttribute('aria-label', trans.__('Filters; those of different kinds combine'));
    this.matchCount.setAttribute('role', 'status');
    this.clearButton = linkButton(trans.__('clear'), () => this.events.clear(), trans.__('Remove all filters'));
    const hint = element('span', 'nbtools-trace-hint', keyHint(trans));
    hint.setAttribute('aria-hidden', 'true');
    this.status.append(this.matchCount, this.clearButton, this.indexing);
    this.node.append(this.search, this.chips, this.menus, hint);
  }

  /** Shows the current filter, what it can be combined with, and the number of matches of `total` lines. */
  show(filter: TraceFilter, facets: readonly OfferedFacet[], total: number, matchCount: string, indexing: string): void {
    this.filter = filter;
    this.drawChips(facets, total);
    this.drawMenus(facets.filter(({ menu, choices }) => menu && choices.length > 0));
    if (!this.typingTimer) {
      this.search.value = filter.text;
    }
    setText(this.matchCount, matchCount);
    setText(this.indexing, indexing);
    this.clearButton.hidden = !matchCount && !indexing;
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

  /**
   * Draws the chips.  One that is there stays the same element: the browser sends no click to a button that is replaced
   * between press and release, as by the answer to another request.
   */
  private drawChips(facets: readonly OfferedFacet[], total: number): void {
    const { trans, filter } = this;
    const all = { key: '', label: trans.__('All'), count: total, title: trans.__('All steps: messages and calls, with nested ones') };
    const chips = facets.filter(({ menu }) => !menu).flatMap(({ choices }) => choices);
    const known = [...this.chips.children] as HTMLButtonElement[];
    const nodes = [all, ...chips].map(choice => this.chip(choice, known));
    if (filter.first !== null) {
      const range =
        chipOf(known, RANGE, trans.__('range')) ??
        this.button(trans.__('range'), RANGE, () => this.events.change({ first: null, last: null }));
      range.setAttribute('aria-pressed', 'true');
      range.title = trans.__('Only a range of the timeline is listed. Click to list all steps.');
      nodes.push(range);
    }
    const focused = focusedIn(this.chips)?.dataset['key'];
    known.filter(node => !nodes.includes(node)).forEach(node => node.remove());
    nodes.forEach((node, i) => this.chips.children[i] === node || this.chips.insertBefore(node, this.chips.children[i] ?? null));
    if (focused !== undefined && !focusedIn(this.chips)) {
      (nodes.find(({ dataset }) => dataset['key'] === focused) ?? nodes[0])!.focus();
    }
  }

  private chip({ key, label, count, title }: Choice, known: readonly HTMLButtonElement[]): HTMLButtonElement {
    const { chips } = this.filter;
    const pressed = key ? chips.includes(key) : chips.length === 0;
    let chip = chipOf(known, key, label);
    if (!chip) {
      chip = this.button(label, key, () => this.events.change({ chips: key ? toggleChip(this.filter.chips, key) : [] }));
      chip.append(' ', element('span'));
    }
    const number = chip.lastElementChild as HTMLElement;
    const text = count.toLocaleString();
    setText(number, text);
    // A chip never shrinks, so that the others do not move under the pointer when an answer changes the counts.
    number.style.display = 'inline-block';
    number.style.minWidth = `${Math.max(parseInt(number.style.minWidth) || 0, text.length)}ch`;
    chip.setAttribute('aria-pressed', String(pressed));
    chip.title = title;
    chip.classList.toggle('nbtools-trace-none', count === 0 && !pressed);
    return chip;
  }

  private button(label: string, key: string, onClick: () => void): HTMLButtonElement {
    const button = element('button', 'nbtools-trace-chip', label);
    button.type = 'button';
    button.dataset['key'] = key;
    button.addEventListener('click', onClick);
    return button;
  }

  private drawMenus(facets: readonly OfferedFacet[]): void {
    const known = [...this.menus.children] as HTMLSelectElement[];
    const menus = facets.map(facet => known.find(({ dataset }) => dataset['facet'] === facet.name) ?? this.menu(facet));
    if (menus.length !== known.length || menus.some((menu, i) => menu !== known[i])) {
      this.menus.replaceChildren(...menus);
    }
    facets.forEach((facet, i) => this.setOptions(menus[i]!, facet));
  }

  private menu({ name, label }: OfferedFacet): HTMLSelectElement {
    const { trans } = this;
    const menu = element('select', 'nbtools-trace-menu');
    menu.dataset['facet'] = name;
    menu.setAttribute('aria-label', { tool: trans.__('Tool'), path: trans.__('File') }[name] ?? label);
    menu.addEventListener('change', () => this.events.change({ chips: chooseChip(this.filter.chips, name, menu.value) }));
    return menu;
  }

  private setOptions(menu: HTMLSelectElement, { name, label, choices }: OfferedFacet): void {
    const { trans } = this;
    const options: [string, string][] = [
      [{ tool: trans.__('any tool'), path: trans.__('any file') }[name] ?? trans.__('any %1', label.toLowerCase()), ''],
      ...choices.map(({ label, count, key }): [string, string] => [`${label} (${count.toLocaleString()})`, key])
    ];
    const shown = [...menu.options].map(({ text, value }) => [text, value]);
    if (JSON.stringify(shown) !== JSON.stringify(options)) {
      menu.replaceChildren(...options.map(([text, value]) => new Option(text, value)));
    }
    const chosen = choices.find(({ key }) => this.filter.chips.includes(key))?.key ?? '';
    menu.value === chosen || (menu.value = chosen);
    menu.classList.toggle('nbtools-trace-chosen', chosen !== '');
  }
}

/** The chip with this key and label among those that are shown. */
function chipOf(known: readonly HTMLButtonElement[], key: string, label: string): HTMLButtonElement | undefined {
  return known.find(({ dataset, firstChild }) => dataset['key'] === key && firstChild?.textContent === label);
}
