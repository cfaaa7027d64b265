import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import type { SessionRow } from './model.js';

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

/** Draws one session as a row of the table. */
export function drawRow(session: SessionRow, selected: boolean, trans: TranslationBundle): HTMLTableRowElement {
  const row = element('tr');
  row.tabIndex = -1;
  row.dataset['id'] = session.id;
  row.setAttribute('aria-selected', String(selected));
  const box = element('input');
  box.type = 'checkbox';
  box.tabIndex = -1;
  box.checked = selected;
  box.setAttribute('aria-label', trans.__('Select %1', session.title));
  row.append(element('td', 'nbtools-sessions-box', box), ...COLUMNS.map(column => drawCell(session, column, trans)));
  return row;
}

function drawCell(session: SessionRow, column: Column, trans: TranslationBundle): HTMLTableCellElement {
  const cell = element('td', `nbtools-sessions-${column}`);
  if (column === 'title') {
    const title = element('bdi', '', session.title);
    title.title = session.title;
    session.running && cell.append(mark('nbtools-sessions-running', '●', trans.__('running now')));
    session.problem && cell.append(mark('nbtools-sessions-problem', '!', session.problem));
    cell.append(title);
  } else if (column === 'edits') {
    cell.append(element('span', 'nbtools-plus', session.added), ' ', element('span', 'nbtools-minus', session.removed));
  } else {
    cell.append(column === 'failed' && session.failed === '0' ? '0' : session[column]);
    column === 'failed' && cell.classList.toggle('nbtools-sessions-bad', !['', '0'].includes(session.failed));
    cell.title = { project: session.folder, age: session.times, tokens: session.doubt, model: session.model }[column as string] ?? '';
  }
  return cell;
}

function mark(className: string, text: string, label: string): HTMLElement {
  const node = element('span', className, text);
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', label);
  node.title = label;
  return node;
}
