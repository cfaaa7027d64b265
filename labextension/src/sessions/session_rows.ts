import { readColumns, type Columns } from '../shared/columns.js';
import type { Buffers } from '../shared/methods.js';
import type { SessionFilter, SessionRows } from './model.js';

/** A session.  Texts are as displayed, an empty one is not recorded or not known yet; NaN is a number that is not known. */
export interface SessionRow {
  /** Its number in the kernel. */
  readonly key: number;
  readonly id: string;
  readonly title: string;
  readonly agent: string;
  /** The agent's name in filters, and the project's folder. */
  readonly agentKey: string;
  readonly path: string;
  readonly model: string;
  readonly project: string;
  readonly folder: string;
  /** When it began and changed last, as a text; and the last change in seconds since the epoch. */
  readonly times: string;
  readonly changed: number;
  readonly duration: number;
  readonly durationText: string;
  readonly calls: number;
  readonly failed: number;
  readonly edits: number;
  readonly added: number;
  readonly removed: number;
  readonly tokens: number;
  readonly tokensText: string;
  readonly running: boolean;
  /** Whether the kernel is going to read its log as a whole. */
  readonly unread: boolean;
  readonly doubt: string;
  readonly problem: string;
}

/** A value to filter by: `key` goes into the filter. */
export interface SessionChoice {
  readonly key: string;
  readonly label: string;
  readonly count: number;
}

/** The sessions under a filter, in its order. */
export interface ListedSessions {
  readonly keys: readonly number[];
  readonly agents: readonly SessionChoice[];
  readonly projects: readonly SessionChoice[];
  /** How many of them are going to be read as a whole. */
  readonly unread: number;
}

const MOST_PROJECTS = 200;
const RUNNING = 1;
const UNREAD = 2;

/** All sessions on a machine, by their keys. */
export class SessionStore {
  readonly rows = new Map<number, SessionRow>();
  version = 0;

  /** Takes over sessions that have changed; returns whether there are any, or null if the answer is damaged. */
  add({ block, gone, version, buffers }: SessionRows & Buffers): boolean | null {
    const columns = buffers[0] ? readColumns(block, buffers[0]) : null;
    if (columns === null) {
      return null;
    }
    for (let i = 0; i < columns.count; i++) {
      const row = rowAt(columns, i);
      this.rows.set(row.key, row);
    }
    gone.forEach(key => this.rows.delete(key));
    this.version = version;
    return columns.count > 0 || gone.length > 0;
  }
}

function rowAt(columns: Columns, i: number): SessionRow {
  const number = (name: string) => columns.number(name)[i]!;
  const text = (name: string) => columns.text(name, i);
  const word = (name: string) => columns.word(name, i);
  const flags = number('flags');
  return {
    key: number('key'),
    id: text('id'),
    title: text('title'),
    agent: word('agent'),
    agentKey: word('agent_key'),
    path: word('path'),
    model: word('model'),
    project: word('project'),
    folder: word('folder'),
    times: text('times'),
    changed: number('changed'),
    duration: number('duration'),
    durationText: word('duration_text'),
    calls: number('calls'),
    failed: number('failed'),
    edits: number('edits'),
    added: number('added'),
    removed: number('removed'),
    tokens: number('tokens'),
    tokensText: word('tokens_text'),
    running: (flags & RUNNING) > 0,
    unread: (flags & UNREAD) > 0,
    doubt: word('doubt'),
    problem: word('problem')
  };
}

/** Selects and sorts sessions.  `hits` are the keys of those that contain the filter's text; null if it has none. */
export function listedSessions(
  sessions: Iterable<SessionRow>,
  { agent, project, outcome, sort, descending, since }: SessionFilter,
  hits: ReadonlySet<number> | null
): ListedSessions {
  const rows = [...sessions];
  const isInProject = projectTest(project, rows);
  const isOutcome = OUTCOMES[outcome];
  const listed: SessionRow[] = [];
  const agents = new Map<string, SessionChoice>();
  const projects = new Map<string, SessionChoice>();
  for (const row of rows) {
    if ((hits !== null && !hits.has(row.key)) || row.changed < since || !isOutcome(row)) {
      continue;
    }
    const ofAgent = !agent || row.agentKey === agent;
    const ofProject = isInProject(row.path);
    ofAgent && ofProject && listed.push(row);
    ofProject && count(agents, row.agentKey, row.agent);
    ofAgent && count(projects, row.path, row.folder);
  }
  return {
    keys: sorted(listed, sort, descending).map(({ key }) => key),
    agents: mostFrequent(agents),
    projects: mostFrequent(projects)
      .slice(0, MOST_PROJECTS)
      .sort((a, b) => (a.key < b.key ? -1 : 1)),
    unread: listed.filter(({ unread }) => unread).length
  };
}

const OUTCOMES: Readonly<Record<SessionFilter['outcome'], (row: SessionRow) => boolean>> = {
  '': () => true,
  running: ({ running }) => running,
  failed: ({ failed }) => failed > 0,
  clean: ({ calls, failed }) => calls > 0 && failed === 0,
  changed: ({ edits }) => edits > 0
};

/**
 * Returns whether a folder is that of a project, as the kernel decides: a path selects the folders in it, too, a name all folders
 * of this name; where there is none, any part of a path does.
 */
function projectTest(project: string, rows: readonly SessionRow[]): (path: string) => boolean {
  const name = withSlashes(project).replace(/\/+$/, '');
  if (!project) {
    return () => true;
  }
  const isProject = (path: string) =>
    path === project || `${withSlashes(path)}/`.startsWith(`${name}/`) || withSlashes(path).endsWith(`/${name.replace(/^\/+/, '')}`);
  return rows.some(({ path }) => isProject(path)) ? isProject : path => withSlashes(path).includes(name);
}

function withSlashes(path: string): string {
  return path.toLowerCase().replace(/\\/g, '/');
}

function count(choices: Map<string, SessionChoice>, key: string, label: string): void {
  key && choices.set(key, { key, label, count: (choices.get(key)?.count ?? 0) + 1 });
}

function mostFrequent(choices: ReadonlyMap<string, SessionChoice>): SessionChoice[] {
  return [...choices.values()].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** What sessions are sorted by; an empty text and NaN are not known, and come last. */
const VALUES: Readonly<Record<SessionFilter['sort'], (row: SessionRow) => string | number>> = {
  title: ({ title }) => title.toLowerCase(),
  agent: ({ agentKey }) => agentKey,
  model: ({ model }) => model.toLowerCase(),
  project: ({ path }) => path.toLowerCase(),
  age: ({ changed }) => changed,
  duration: ({ duration }) => duration,
  calls: ({ calls }) => calls,
  failed: ({ failed }) => failed,
  edits: ({ added, removed }) => added + removed,
  tokens: ({ tokens }) => tokens
};

function sorted(rows: readonly SessionRow[], sort: SessionFilter['sort'], descending: boolean): SessionRow[] {
  const direction = descending ? -1 : 1;
  const valued = rows.map(row => {
    const value = VALUES[sort](row);
    return { row, value, unknown: Number(value === '' || Number.isNaN(value)) };
  });
  valued.sort(
    (a, b) =>
      a.unknown - b.unknown ||
      direction * (Number(a.value > b.value) - Number(a.value < b.value)) ||
      b.row.changed - a.row.changed ||
      a.row.key - b.row.key
  );
  return valued.map(({ row }) => row);
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;
const MONTH = 30.44 * DAY;

/** Formats how long ago something was, as the kernel does: `now`, `5 min`, `3 h`, `12 d`, `8 months`, `2 years`. */
export function ageOf(seconds: number): string {
  if (seconds < MINUTE) {
    return 'now';
  }
  if (seconds < HOUR) {
    return `${(seconds / MINUTE).toFixed(0)} min`;
  }
  if (seconds < DAY) {
    return `${(seconds / HOUR).toFixed(0)} h`;
  }
  if (seconds < 60 * DAY) {
    return `${(seconds / DAY).toFixed(0)} d`;
  }
  const months = seconds / MONTH;
  return months < 24 ? `${months.toFixed(0)} months` : `${(months / 12).toFixed(0)} years`;
}

/** Formats a count as the kernel does; an unknown one is empty. */
export function countText(count: number, sign = ''): string {
  return Number.isNaN(count) ? '' : `${sign}${count.toLocaleString('en-US')}`;
}
