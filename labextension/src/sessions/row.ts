import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import type { TableRow } from '../table/table.js';
import { cellOf, COLUMNS, type ListState } from './columns.js';
import type { SessionRow } from './session_rows.js';
import { markedParts } from './session_search.js';

/** A row of the list.  Its nodes are reused for other sessions. */
export class SessionRowView implements TableRow {
  readonly node = element('div', 'nbtools-sessions-row');
  private readonly box = element('input');
  private readonly cells = COLUMNS.map(column => ({ column, node: cellOf(column, 'gridcell') }));
  /** The surroundings of the first hit, below the other cells while there is a search. */
  private readonly excerpt = element('span', 'nbtools-sessions-excerpt nbtools-sessions-text');
  private drawn: SessionRow | null = null;
  /** The text that is marked in the excerpt. */
  private marked = '';

  constructor(private readonly trans: TranslationBundle) {
    this.box.type = 'checkbox';
    this.box.tabIndex = -1;
    const boxCell = element('span', 'nbtools-sessions-box', this.box);
    boxCell.setAttribute('role', 'gridcell');
    this.excerpt.setAttribute('role', 'gridcell');
    this.node.append(boxCell, ...this.cells.map(({ node }) => node), this.excerpt);
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
    const { text = '', contents } = state.found ?? {};
    const excerpt = contents?.get(session.key)?.excerpt ?? '';
    if (excerpt !== this.excerpt.textContent || text !== this.marked) {
      this.marked = text;
      this.excerpt.replaceChildren(...markedParts(excerpt, text).map(([part, isHit]) => (isHit ? element('mark', '', part) : part)));
    }
    if (isOther) {
      this.node.dataset['id'] = session.id;
      this.box.setAttribute('aria-label', trans.__('Select %1', session.title));
    }
  }
}
