import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import type { SessionFilter } from './model.js';
import { ageOf, countText, type SessionRow } from './session_rows.js';
import type { SessionsFound } from './session_search.js';

/** What cells show besides the session itself. */
export interface ListState {
  /** Seconds since the epoch. */
  readonly now: number;
  readonly filter: ListFilter;
  /** What the search for the filter's text has found; null without a text. */
  readonly found: SessionsFound | null;
  /** Whether there is a verdict, or a review of several sessions. */
  readonly isReviewed: boolean;
}

/** The filter and order of a page: `sort` is the key of any column. */
export type ListFilter = Omit<SessionFilter, 'sort'> & {
  readonly sort: string;
  /** The folder of a repository, whose folders and worktrees are listed. */
  readonly repository?: string;
  /** Lists only these sessions; `label` says which they are. */
  readonly only?: { readonly label: string; readonly keys: ReadonlySet<number> } | null;
  readonly review?: ReviewFilter;
};

/** Selects sessions by their verdicts; `queue` are those that are being reviewed. */
export type ReviewFilter = '' | 'queue' | 'unreviewed' | 'disagree' | 'pass' | 'fail' | 'defer';

/**
 * A column of the list of sessions.  To add one, add an entry to `COLUMNS`.
 *
 * `key` is also the name of its cells' class, `nbtools-sessions-KEY`.
 */
export interface ColumnDefinition {
  readonly key: string;
  label(trans: TranslationBundle): string;
  /** The name of what it counts among the definitions that the kernel sends, which are the tooltip of its head. */
  readonly definition?: string;
  /** The tooltip of its head, where there is no such definition. */
  hint?(trans: TranslationBundle): string;
  /** Text begins at the left, numbers end at the right. */
  readonly isText?: boolean;
  /** Its width in the grid, such as `62px`. */
  readonly width: string;
  /**
   * The list's width in pixels from which the column is shown; 0 for always.  It needs more if titles would have less than a third:
   * columns with the greatest number give way first.
   */
  readonly from: number;
  /** Its share of a narrow list, where titles have lines of their own; 3 if absent. */
  readonly share?: number;
  /** Returns whether the column is there at all; always, if absent. */
  isShown?(state: ListState): boolean;
  /** Returns what sessions are sorted by: an empty text and NaN are not known, and come last.  Absent: the list cannot be sorted by it. */
  value?(row: SessionRow, state: ListState): string | number;
  /** Whether the list is sorted upwards at first. */
  readonly isAscending?: boolean;
  /** Returns the text of a cell. */
  text(row: SessionRow, state: ListState): string;
  /** Returns the tooltip of a cell. */
  note?(row: SessionRow, trans: TranslationBundle): string;
  /** Whether the text changes while the session does not. */
  readonly changes?: boolean;
  /** Draws a cell whose content is more than a text. */
  draw?(cell: HTMLElement, row: SessionRow, trans: TranslationBundle): void;
}

/** The columns, from left to right. */
export const COLUMNS: readonly ColumnDefinition[] = [
  {
    key: 'title',
    label: trans => trans.__('Session'),
    isText: true,
    width: 'minmax(0, 1fr)',
    from: 0,
    value: ({ title }) => title.toLowerCase(),
    isAscending: true,
    text: ({ title }) => title,
    draw: drawTitle
  },
  {
    key: 'hits',
    label: trans => trans.__('Hits'),
    hint: trans => trans.__('Steps that contain the text: messages, arguments, outputs and names of files'),
    width: '62px',
    from: 281,
    isShown: ({ found }) => found !== null,
    value: ({ key }, { found }) => found?.contents.get(key)?.steps ?? NaN,
    text: ({ key }, { found }) => countText(found?.contents.get(key)?.steps ?? NaN),
    changes: true
  },
  {
    key: 'agent',
    label: trans => trans.__('Agent'),
    isText: true,
    width: '104px',
    from: 861,
    value: ({ agentKey }) => agentKey,
    isAscending: true,
    text: ({ agent }) => agent
  },
  {
    key: 'model',
    label: trans => trans.__('Model'),
    isShown: ({ found }) => found === null, // the hits take its place
    isText: true,
    width: '120px',
    from: 1081,
    value: ({ model }) => model.toLowerCase(),
    isAscending: true,
    text: ({ model }) => model,
    note: ({ model }) => model
  },
  {
    key: 'project',
    label: trans => trans.__('Project'),
    isText: true,
    width: '120px',
    from: 641,
    value: ({ path }) => path.toLowerCase(),
    isAscending: true,
    text: ({ project }) => project,
    note: ({ folder }) => folder
  },
  {
    key: 'started',
    label: trans => trans.__('Started'),
    definition: 'started',
    width: '84px',
    from: 1181,
    value: ({ started }) => started,
    text: ({ startedText }) => startedText,
    note: ({ times }) => times
  },
  {
    key: 'age',
    definition: 'changed',
    label: trans => trans.__('Age'),
    width: '76px',
    from: 0,
    value: ({ changed }) => changed,
    text: ({ changed }, { now }) => ageOf(now - changed),
    note: ({ times }) => times,
    changes: true
  },
  {
    key: 'duration',
    label: trans => trans.__('Duration'),
    definition: 'duration',
    width: '84px',
    from: 981,
    value: ({ duration }) => duration,
    text: ({ durationText }) => durationText
  },
  {
    key: 'calls',
    label: trans => trans.__('Calls'),
    definition: 'calls',
    width: '62px',
    from: 0,
    value: ({ calls }) => calls,
    text: ({ calls }) => countText(calls)
  },
  {
    key: 'failed',
    label: trans => trans.__('Failed'),
    definition: 'failed_calls',
    width: '62px',
    from: 0,
    value: ({ failed }) => failed,
    text: ({ failed }) => countText(failed),
    draw: (cell, { failed }) => {
      setText(cell, countText(failed));
      cell.classList.toggle('nbtools-sessions-bad', failed > 0);
    }
  },
  {
    key: 'edits',
    label: trans => trans.__('Edits'),
    definition: 'edits',
    width: '110px',
    from: 281,
    share: 5,
    value: ({ added, removed }) => added + removed,
    text: editsText,
    draw: drawEdits
  },
  {
    key: 'tokens',
    label: trans => trans.__('Tokens'),
    definition: 'input_tokens',
    width: '66px',
    from: 761,
    value: ({ tokens }) => tokens,
    text: ({ tokensText }) => tokensText,
    note: ({ doubt }) => doubt
  },
  {
    key: 'cost',
    label: trans => trans.__('Cost'),
    definition: 'cost',
    width: '82px',
    from: 701,
    value: ({ cost }) => cost,
    text: ({ costText }) => costText,
    note: ({ costNote }) => costNote
  },
  {
    key: 'verdict',
    label: trans => trans.__('Verdict'),
    isText: true,
    width: '130px',
    from: 0,
    share: 5,
    isShown: ({ isReviewed }) => isReviewed,
    value: ({ verdict, others }) => verdict || others,
    isAscending: true,
    text: ({ verdict, others }) => [verdict, others].filter(Boolean).join(' '),
    note: ({ others }) => others,
    draw: drawVerdict
  }
];

/** Below this width, in pixels, titles stand above the figures. */
const NARROW = 521;
const BOX = '30px';

/** A list's widths in pixels from which a column is shown: where titles stand above the figures, and otherwise. */
interface Placement {
  readonly column: ColumnDefinition;
  readonly narrow: number;
  readonly wide: number;
}

/** Returns where columns are shown.  Beside them, titles have at least a third of the list. */
function placementsOf(columns: readonly ColumnDefinition[]): Placement[] {
  const pixels = ({ width }: ColumnDefinition) => parseFloat(width) || 0; // the title has what is left
  const isOptional = ({ isShown, from }: ColumnDefinition) => isShown !== undefined && from < NARROW;
  const room = columns.filter(isOptional).reduce((sum, column) => sum + pixels(column), 0);
  let used = parseFloat(BOX);
  const wide = new Map<ColumnDefinition, number>();
  for (const column of [...columns].sort((a, b) => a.from - b.from)) {
    used += pixels(column);
    wide.set(column, pixels(column) ? Math.max(column.from, Math.ceil(used * 1.5)) : column.from);
  }
  return columns.map(column => ({
    column,
    narrow: column.from && !isOptional(column) ? column.from + room : column.from,
    wide: wide.get(column)!
  }));
}

/** Returns the style sheet that places the columns of one list, whose node has the class `scope`. */
export function columnStyle(scope: string, columns: readonly ColumnDefinition[], absent: readonly ColumnDefinition[]): string {
  const placements = placementsOf(columns);
  const starts = placements.flatMap(({ narrow, wide }) => [Math.min(narrow, NARROW), Math.max(wide, NARROW)]);
  const widths = [...new Set([0, NARROW, ...starts])].sort((a, b) => a - b);
  const grids = widths.map(width => {
    const isNarrow = width < NARROW;
    const shown = placements.filter(({ narrow, wide }) => (isNarrow ? narrow : wide) <= width).map(({ column }) => column);
    const tracks = isNarrow ? shown.slice(1).map(({ share = 3 }) => `minmax(0, ${share}fr)`) : shown.map(column => column.width);
    return `@container (min-width: ${width}px) { .${scope} .nbtools-sessions-row { grid-template-columns: ${[BOX, ...tracks].join(' ')}; } }`;
  });
  const cell = ({ key }: ColumnDefinition) => `.${scope} .nbtools-sessions-${key}`;
  const hide = (column: ColumnDefinition, range: string) => `@container ${range} { ${cell(column)} { display: none; } }`;
  const hidden = placements.flatMap(({ column, narrow, wide }) => [
    ...(narrow > 0 ? [hide(column, `(max-width: ${Math.min(narrow, NARROW) - 0.01}px)`)] : []),
    ...(wide > NARROW ? [hide(column, `(min-width: ${NARROW}px) and (max-width: ${wide - 0.01}px)`)] : [])
  ]);
  return [...grids, ...hidden, ...absent.map(column => `${cell(column)} { display: none; }`)].join('\n');
}

/** Returns the cell of a column. */
export function cellOf({ key, isText }: ColumnDefinition, role: string): HTMLElement {
  const cell = element('span', `nbtools-sessions-${key}${isText ? ' nbtools-sessions-text' : ''}`);
  cell.setAttribute('role', role);
  return cell;
}

function drawTitle(cell: HTMLElement, { title, running, problem }: SessionRow, trans: TranslationBundle): void {
  const marks = [
    ...(running ? [mark('nbtools-sessions-running', '●', trans.__('running now'))] : []),
    ...(problem ? [mark('nbtools-sessions-problem', '!', problem)] : [])
  ];
  const text = element('bdi', '', title);
  text.title = title;
  cell.replaceChildren(...marks, text);
}

function drawVerdict(cell: HTMLElement, { verdict, others, disagree }: SessionRow): void {
  const own = element('span', 'nbtools-trace-mark', verdict);
  own.dataset['tone'] = verdict;
  const rest = element('bdi', disagree ? 'nbtools-sessions-bad' : 'nbtools-sessions-others', others);
  cell.replaceChildren(...(verdict ? [own, ' '] : []), rest);
}

function mark(className: string, text: string, label: string): HTMLElement {
  const node = element('span', className, text);
  node.setAttribute('role', 'img');
  node.setAttribute('aria-label', label);
  node.title = label;
  return node;
}

function editsText({ added, removed }: SessionRow): string {
  return [countText(added, '+'), countText(removed, '−')].filter(Boolean).join(' ');
}

function drawEdits(cell: HTMLElement, { added, removed }: SessionRow): void {
  const hasLines = !Number.isNaN(added) || !Number.isNaN(removed);
  const plus = element('span', 'nbtools-plus', hasLines ? countText(added || 0, '+') : '');
  const minus = element('span', 'nbtools-minus', hasLines ? countText(removed || 0, '−') : '');
  cell.replaceChildren(plus, ' ', minus);
}
