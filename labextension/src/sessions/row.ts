import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import type { TableRow } from '../table/table.js';
import { ageOf, countText, type SessionRow } from './session_rows.js';

/** The columns of the list, by which it can be sorted. */
export const COLUMNS = ['title', 'agent', 'model', 'project', 'age', 'duration', 'calls', 'failed', 'edits', 'tokens'] as const;
export type Column = (typeof COLUMNS)[number];

export function columnLabel(column: Column, trans: TranslationBundle): string {
  const labels: Record<Column, string> = {
    title: trans.__('Session'),
    agent: trans.__('Agent'),
    model: trans.__('Model'),
    project: trans.__('Project'),
    age: trans.__('Age'),
    duration: trans.__('Duration'),
    calls: trans.__('Calls'),
    failed: trans.__('Failed'),
    edits: trans.__('Edits'),
    tokens: trans.__('Tokens')
  };
  return labels[column];
}

/** A row of the list.  Its nodes are reused for other sessions. */
export class SessionRowView implements TableRow {
  readonly node = element('div', 'nbtools-sessions-row');
  private readonly box = element('input');
  private readonly cells = Object.fromEntries(COLUMNS.map(column => [column, cellOf(`nbtools-sessions-${column}`)])) as Record<
    Column,
    HTMLElement
  >;
  private readonly title = element('bdi');
  private readonly added = element('span', 'nbtools-plus');
  private readonly removed = element('span', 'nbtools-minus');
  private drawn: SessionRow | null = null;

  constructor(private readonly trans: TranslationBundle) {
    this.box.type = 'checkbox';
    this.box.tabIndex = -1;
    const boxCell = cellOf('nbtools-sessions-box');
    boxCell.append(this.box);
    this.cells.edits.append(this.added, ' ', this.removed);
    this.node.append(boxCell, ...COLUMNS.map(column => this.cells[column]));
  }

  /** Shows a session at a time, in seconds since the epoch. */
  update(session: SessionRow, selected: boolean, now: number): void {
    this.node.setAttribute('aria-selected', String(selected));
    this.box.checked = selected;
    setText(this.cells.age, ageOf(now - session.changed));
    if (session !== this.drawn) {
      this.drawn = session;
      this.draw(session);
    }
  }

  private draw(session: SessionRow): void {
    const { trans, cells } = this;
    const marks = [
      ...(session.running ? [mark('nbtools-sessions-running', '●', trans.__('running now'))] : []),
      ...(session.problem ? [mark('nbtools-sessions-problem', '!', session.problem)] : [])
    ];
    this.node.dataset['id'] = session.id;
    this.box.setAttribute('aria-label', trans.__('Select %1', session.title));
    this.title.title = session.title;
    setText(this.title, session.title);
    cells.title.replaceChildren(...marks, this.title);
    setText(cells.agent, session.agent);
    setText(cells.model, session.model);
    setText(cells.project, session.project);
    setText(cells.duration, session.durationText);
    setText(cells.calls, countText(session.calls));
    setText(cells.failed, countText(session.failed));
    setText(cells.tokens, session.tokensText);
    cells.failed.classList.toggle('nbtools-sessions-bad', session.failed > 0);
    const hasEdits = !Number.isNaN(session.added) || !Number.isNaN(session.removed);
    setText(this.added, hasEdits ? countText(session.added || 0, '+') : '');
    setText(this.removed, hasEdits ? countText(session.removed || 0, '−') : '');
    cells.model.title = session.model;
    cells.project.title = session.folder;
    cells.age.title = session.times;
    cells.tokens.title = session.doubt;
  }
}

function cellOf(className: string): HTMLElement {
  const cell = element('span', className);
  cell.setAttribute('role', 'gridcell');
  return cell;
}

function mark(className: string, text: string, label: string): HTMLElement {
  const node = element('span', className, text);
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', label);
  node.title = label;
  return node;
}
