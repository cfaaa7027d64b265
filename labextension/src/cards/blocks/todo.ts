import { element } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { TodoBlock, TodoEntry } from '../model.js';
import type { BlockView } from './block.js';
import { Preview } from './preview.js';

const MARKS: Readonly<Record<TodoEntry['status'], string>> = {
  pending: '☐',
  in_progress: '▶',
  completed: '☑',
  cancelled: '☒',
  blocked: '⊘'
};

/** A to-do list.  Each item's mark shows its status, with a label for screen readers. */
export class TodoView implements BlockView<TodoBlock> {
  readonly node = element('div');
  private readonly list = element('ul', 'nbtools-todo');
  private readonly preview: Preview;
  private block: TodoBlock | null = null;

  constructor(private readonly context: CardContext) {
    this.preview = new Preview(context, this.list, () => this.draw(this.block!));
    this.node.append(this.list, this.preview.node);
  }

  update(block: TodoBlock): void {
    this.block = block;
    this.draw(block);
  }

  private draw({ items }: TodoBlock): void {
    const shown = this.preview.shown(items.length);
    this.list.replaceChildren(...items.slice(0, shown).map(item => this.entry(item)));
    const counts = [shown, items.length].map(count => count.toLocaleString());
    const sentence = shown < items.length ? this.context.trans.__('%1 of %2 items', ...counts) : '';
    this.preview.update(shown, items.length, items.length, sentence);
  }

  private entry(item: TodoEntry): HTMLElement {
    const { trans } = this.context;
    const labels: Readonly<Record<TodoEntry['status'], string>> = {
      pending: trans.__('to do'),
      in_progress: trans.__('in progress'),
      completed: trans.__('done'),
      cancelled: trans.__('cancelled'),
      blocked: trans.__('blocked')
    };
    const mark = element('span', 'nbtools-mark', MARKS[item.status]);
    mark.setAttribute('role', 'img');
    mark.setAttribute('aria-label', labels[item.status]);
    mark.title = labels[item.status];
    const entry = element('li', '', mark, element('span', '', item.text));
    entry.dataset['status'] = item.status;
    return entry;
  }
}
