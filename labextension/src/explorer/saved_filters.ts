import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import type { TraceFilter } from './filter.js';
import type { SavedFilter, SavedFiltersParams } from './model.js';
import { failureMessage, type LogRequests } from './requests.js';

/** Characters of a name. */
const MAX_NAME = 100;

export interface SavedFilterEvents {
  /** Returns the filter of the list. */
  current(): TraceFilter;
  /** Lists what a saved filter selects. */
  apply(filter: Pick<TraceFilter, 'text' | 'chips' | 'order'>): void;
}

/** The person's named filters: saves the current one, and lists them to apply, rename or delete. */
export class SavedFiltersPanel {
  readonly node = element('section', 'nbtools-trace-saved');
  readonly toggle: HTMLButtonElement;
  private readonly form = element('form');
  private readonly field = element('input', 'nbtools-trace-note');
  private readonly list = element('ul', 'nbtools-trace-secrets');
  private readonly current = element('span', 'nbtools-trace-quiet');
  private readonly status = element('span', 'nbtools-trace-quiet');
  private readonly undo: HTMLButtonElement;
  private deleted: SavedFilter | null = null;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly requests: LogRequests,
    private readonly events: SavedFilterEvents
  ) {
    this.toggle = linkButton(trans.__('saved filters'), () => this.show(this.node.hidden), trans.__('Combinations of filters with a name'));
    this.toggle.setAttribute('aria-expanded', 'false');
    this.undo = linkButton(trans.__('Undo'), () => void this.restore());
    this.undo.hidden = true;
    this.status.setAttribute('role', 'status');
    this.node.setAttribute('aria-label', trans.__('Saved filters'));
    this.node.hidden = true;
    this.prepareField(this.field, trans.__('Name for the current filter'));
    this.field.placeholder = trans.__('Name for the current filter');
    this.form.append(this.field, this.submitButton(trans.__('Save')), this.current);
    this.form.addEventListener('submit', event => {
      event.preventDefault();
      void this.save();
    });
    this.node.append(this.form, this.list, element('div', 'nbtools-trace-share-foot', this.status, this.undo));
  }

  /** The filter of the list has changed. */
  onFilter(): void {
    this.node.hidden || this.describeCurrent();
  }

  private show(shown: boolean): void {
    this.node.hidden = !shown;
    this.toggle.setAttribute('aria-expanded', String(shown));
    if (shown) {
      this.describeCurrent();
      this.field.focus();
      void this.send({ action: 'list' }, '');
    }
  }

  private describeCurrent(): void {
    setText(this.current, this.description(this.events.current()) || this.trans.__('Nothing is filtered'));
  }

  private description({ chips, text, order }: Pick<TraceFilter, 'text' | 'chips' | 'order'>): string {
    const { trans } = this;
    const orders = { '': '', tokens: trans.__('most tokens first'), duration: trans.__('slowest first') };
    return [...chips.map(chip => chip.slice(chip.indexOf(':') + 1)), text && `“${text}”`, orders[order]].filter(Boolean).join(' · ');
  }

  private async save(): Promise<void> {
    const { chips, text, order } = this.events.current();
    const name = this.field.value.trim();
    if (await this.send({ action: 'save', filter: { name, chips, text, order } }, this.trans.__('Saved “%1”.', name))) {
      this.field.value = '';
    }
  }

  private async restore(): Promise<void> {
    const { deleted: filter } = this;
    filter && (await this.send({ action: 'save', filter }, this.trans.__('Saved “%1”.', filter.name)));
    this.field.focus();
  }

  private async remove(filter: SavedFilter): Promise<void> {
    if (await this.send({ action: 'delete', name: filter.name }, this.trans.__('Deleted “%1”.', filter.name))) {
      this.deleted = filter;
      this.undo.hidden = false;
      this.undo.focus();
    }
  }

  /** Sends a request and shows the list after it.  Returns whether it was carried out. */
  private async send(task: Partial<SavedFiltersParams>, message: string): Promise<boolean> {
    try {
      const { filters } = await this.requests.ask('trace.saved_filters', { name: '', to: '', filter: null, action: 'list', ...task });
      this.undo.hidden = true;
      this.list.matches(':focus-within') && this.field.focus(); // what has the focus is about to be removed
      this.list.replaceChildren(...filters.map(filter => this.item(filter)));
      setText(this.status, message || (filters.length ? '' : this.trans.__('No filter is saved yet.')));
      return true;
    } catch (error) {
      setText(this.status, failureMessage(error));
      return false;
    }
  }

  private item(filter: SavedFilter): HTMLElement {
    const { trans } = this;
    const item = element(
      'li',
      '',
      linkButton(filter.name, () => this.events.apply(filter)),
      element('span', 'nbtools-trace-quiet', this.description(filter)),
      linkButton(trans.__('rename'), () => this.startRenaming(item, filter)),
      linkButton(trans.__('delete'), () => void this.remove(filter))
    );
    for (const button of [...item.querySelectorAll('button')].slice(1)) {
      button.setAttribute('aria-label', `${button.textContent} ${filter.name}`);
    }
    return item;
  }

  /** Shows a field for another name in place of the filter's; it is left without a change. */
  private startRenaming(item: HTMLElement, filter: SavedFilter): void {
    const form = element('form');
    const field = element('input', 'nbtools-trace-note');
    this.prepareField(field, this.trans.__('New name'));
    field.value = filter.name;
    form.append(field, this.submitButton(this.trans.__('Rename')));
    form.addEventListener('submit', event => {
      event.preventDefault();
      void this.rename(filter, field.value.trim());
    });
    form.addEventListener('focusout', ({ relatedTarget }) => {
      (relatedTarget instanceof Node && form.contains(relatedTarget)) || item.replaceWith(this.item(filter));
    });
    item.replaceChildren(form);
    field.select();
  }

  private async rename({ name }: SavedFilter, to: string): Promise<void> {
    if (await this.send({ action: 'rename', name, to }, this.trans.__('Renamed to “%1”.', to))) {
      [...this.list.querySelectorAll('button')].find(({ textContent }) => textContent === to)?.focus();
    }
  }

  private prepareField(field: HTMLInputElement, label: string): void {
    field.maxLength = MAX_NAME;
    field.required = true;
    field.spellcheck = false;
    field.setAttribute('aria-label', label);
  }

  private submitButton(label: string): HTMLButtonElement {
    const button = element('button', 'nbtools-button', label);
    button.type = 'submit';
    return button;
  }
}
