import { element } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { TodoBlock, TodoEntry } from '../model.js';
import type { BlockView } from './block.js';

const MARKS: Readonly<Record<TodoEntry['status'], string>> = {
  pending: '☐',
  in_progress: '▶',
  completed: '☑',
  cancelled: '☒',
  blocked: '⊘'
};

/** A to-do list.  Each item's mark shows its status, with a label for screen readers. */
export class TodoView implements BlockView<TodoBlock> {
  readonly node = element('ul', 'nbtools-todo');

  constructor(private readonly context: CardContext) {}

  update(block: TodoBlock): void {
    this.node.replaceChildren(...block.items.map(item => this.entry(item)));
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
