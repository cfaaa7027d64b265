import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton } from '../shared/element.js';
import type { ReviewCode, TraceLabel } from './model.js';

export interface RecordEvents {
  goToLine(line: number): void;
  /** Sorts a note under a code. */
  sort(label: string, code: string): void;
  withdraw(label: string): void;
}

/** The list of what was written: notes, which can be dragged to a code or sorted with a menu, labels and verdicts. */
export class RecordListView {
  readonly node = element('details', 'nbtools-trace-records');
  /** The id of the note that is being dragged; null if none is. */
  dragged: string | null = null;
  private readonly summary = element('summary');
  private readonly list = element('ul');

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: RecordEvents
  ) {
    this.node.append(this.summary, this.list);
    this.node.hidden = true;
  }

  /** Shows the latest of `count` records, the latest first. */
  update(labels: readonly TraceLabel[], count: number, codes: readonly ReviewCode[]): void {
    this.node.hidden = labels.length === 0;
    this.summary.textContent = this.trans._n('%1 record', '%1 records', count, count.toLocaleString());
    this.list.replaceChildren(...[...labels].reverse().map(label => this.item(label, codes)));
  }

  private item(label: TraceLabel, codes: readonly ReviewCode[]): HTMLElement {
    const { trans } = this;
    const { line } = label;
    const place = label.step ? trans.__('step %1', label.step) : trans.__('session');
    const item = element(
      'li',
      '',
      line === null ? element('span', 'nbtools-trace-quiet', place) : linkButton(place, () => this.events.goToLine(line)),
      element('span', 'nbtools-trace-mark', label.kind === 'note' ? trans.__('note') : label.value),
      ...(label.kind === 'note' ? [element('span', 'nbtools-trace-note-text', label.value)] : []),
      ...(label.span ? [element('q', '', label.span)] : []),
      element('span', 'nbtools-trace-quiet', label.reviewer),
      ...(label.lost ? [element('span', 'nbtools-trace-bad', label.lost)] : [])
    );
    const mark = item.querySelector<HTMLElement>('.nbtools-trace-mark')!;
    mark.dataset['tone'] = label.kind === 'verdict' ? label.value : label.kind;
    if (label.kind === 'note') {
      this.makeSortable(item, label, codes);
    }
    if (label.mine) {
      item.append(linkButton(trans.__('take back'), () => this.events.withdraw(label.id)));
    }
    return item;
  }

  private makeSortable(item: HTMLElement, label: TraceLabel, codes: readonly ReviewCode[]): void {
    const menu = element('select', 'nbtools-trace-menu');
    menu.append(new Option(this.trans.__('no code'), ''), ...codes.map(({ name }) => new Option(name, name)));
    menu.options[0]!.disabled = true;
    menu.value = codes.some(({ name }) => name === label.code) ? label.code : '';
    menu.setAttribute('aria-label', this.trans.__('Code of this note'));
    menu.addEventListener('change', () => menu.value && this.events.sort(label.id, menu.value));
    item.append(menu);
    item.draggable = true;
    item.addEventListener('dragstart', event => {
      this.dragged = label.id;
      event.dataTransfer?.setData('text/plain', label.value);
    });
    item.addEventListener('dragend', () => (this.dragged = null));
  }
}
