import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import type { TableRow } from '../table/table.js';
import { cellOf, COLUMNS, type ListState } from './columns.js';
import type { SessionRow } from './session_rows.js';

/** A row of the list.  Its nodes are reused for other sessions. */
export class SessionRowView implements TableRow {
  readonly node = element('div', 'nbtools-sessions-row');
  private readonly box = element('input');
  private readonly cells = COLUMNS.map(column => ({ column, node: cellOf(column, 'gridcell') }));
  private drawn: SessionRow | null = null;

  constructor(private readonly trans: TranslationBundle) {
    this.box.type = 'checkbox';
    this.box.tabIndex = -1;
    const boxCell = element('span', 'nbtools-sessions-box', this.box);
    boxCell.setAttribute('role', 'gridcell');
    this.node.append(boxCell, ...this.cells.map(({ node }) => node));
  }

  /** Shows a session. */
  update(session: SessionRow, selected: boolean, state: ListState): void {
    const { trans } = this;
    const isOther = session !== this.drawn;
    this.drawn = session;
    this.node.setAttribute('aria-selected', String(selected));
    this.box.checked = selected;
    for (const { column, node } of this.cells) {
      if (!isOther && !column.changes) {
        continue;
      }
      column.draw ? column.draw(node, session, trans) : setText(node, column.text(session, state));
      if (column.note) {
        node.title = column.note(session, trans);
      }
    }
    if (isOther) {
      this.node.dataset['id'] = session.id;
      this.box.setAttribute('aria-label', trans.__('Select %1', session.title));
    }
  }
}
