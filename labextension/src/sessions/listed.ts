import { COLUMNS, type ListState, type ReviewFilter } from './columns.js';
import type { SessionFilter } from './model.js';
import type { SessionRow } from './session_rows.js';

/** A value to filter by: `key` goes into the filter. */
export interface SessionChoice {
  readonly key: string;
  readonly label: string;
  readonly count: number;
  /** The folder of the project's repository. */
  readonly group: string;
}

/** The sessions under a filter, in its order. */
export interface ListedSessions {
  readonly keys: readonly number[];
  readonly agents: readonly SessionChoice[];
  /** The folders, those of a repository after one another. */
  readonly projects: readonly SessionChoice[];
  readonly repositories: readonly SessionChoice[];
  /** How many of them are going to be read as a whole. */
  readonly unread: number;
}

const MOST_PROJECTS = 200;

/** Selects and sorts sessions. */
export function listedSessions(sessions: Iterable<SessionRow>, state: ListState): ListedSessions {
  const { found } = state;
  const { agent, project, repository = '', outcome, since, until, only = null } = state.filter;
  const rows = [...sessions];
  const isInProject = projectTest(project, rows);
  const isOutcome = OUTCOMES[outcome];
  const isReview = reviewTest(state.filter.review ?? '', rows);
  const listed: SessionRow[] = [];
  const agents = new Map<string, SessionChoice>();
  const projects = new Map<string, SessionChoice>();
  const repositories = new Map<string, SessionChoice>();
  for (const row of rows) {
    if (
      (found !== null && !found.titles.has(row.key) && !found.contents.has(row.key)) ||
      (only !== null && !only.keys.has(row.key)) ||
      row.changed < since ||
      isLater(row, until) ||
      !isOutcome(row) ||
      !isReview(row)
    ) {
      continue;
    }
    const ofAgent = !agent || row.agentKey === agent;
    const ofProject = isInProject(row) && (!repository || row.repository === repository);
    ofAgent && ofProject && listed.push(row);
    ofProject && count(agents, row.agentKey, row.agent);
    ofAgent && count(projects, row.path, row.folder, row.repository);
    ofAgent && count(repositories, row.repository, row.repositoryText);
  }
  return {
    keys: sorted(listed, state).map(({ key }) => key),
    agents: mostFrequent(agents),
    projects: byRepository(mostFrequent(projects).slice(0, MOST_PROJECTS)),
    repositories: [...repositories.values()],
    unread: listed.filter(({ unread }) => unread).length
  };
}

/** Sorts folders by their paths, and those of a repository, with its worktrees elsewhere, by that of the repository. */
function byRepository(projects: readonly SessionChoice[]): SessionChoice[] {
  const place = ({ group, key }: SessionChoice) => `${group || key}\0${key}`;
  return [...projects].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** Whether a session began after a time; 0 for any. */
function isLater({ started, changed }: SessionRow, until: number): boolean {
  return until > 0 && (Number.isNaN(started) ? changed : started) > until;
}

const OUTCOMES: Readonly<Record<SessionFilter['outcome'], (row: SessionRow) => boolean>> = {
  '': () => true,
  running: ({ running }) => running,
  failed: ({ failed }) => failed > 0,
  clean: ({ calls, failed }) => calls > 0 && failed === 0,
  changed: ({ edits }) => edits > 0
};

/** Selects by verdicts; while several sessions are being reviewed, only those are unreviewed. */
function reviewTest(review: ReviewFilter, rows: readonly SessionRow[]): (row: SessionRow) => boolean {
  switch (review) {
    case '':
      return () => true;
    case 'queue':
      return ({ queued }) => queued;
    case 'disagree':
      return ({ disagree }) => disagree;
    case 'unreviewed': {
      const hasQueue = rows.some(({ queued }) => queued);
      return ({ verdict, queued }) => verdict === '' && (queued || !hasQueue);
    }
    default:
      return ({ verdict }) => verdict === review;
  }
}

/**
 * Returns whether a session is of a project, as the kernel decides by its folder and its repository: a path selects the folders in
 * it, too, a name all folders of this name; where there is none, any part of a path does.
 */
function projectTest(project: string, rows: readonly SessionRow[]): (row: SessionRow) => boolean {
  const name = withSlashes(project).replace(/\/+$/, '');
  if (!project) {
    return () => true;
  }
  const isProject = (path: string) =>
    path === project || `${withSlashes(path)}/`.startsWith(`${name}/`) || withSlashes(path).endsWith(`/${name.replace(/^\/+/, '')}`);
  const isPart = (path: string) => withSlashes(path).includes(name);
  const isFolder = rows.some(({ path, repository }) => isProject(path) || isProject(repository)) ? isProject : isPart;
  return ({ path, repository }) => isFolder(path) || isFolder(repository);
}

function withSlashes(path: string): string {
  return path.toLowerCase().replace(/\\/g, '/');
}

function count(choices: Map<string, SessionChoice>, key: string, label: string, group = ''): void {
  key && choices.set(key, { key, label, count: (choices.get(key)?.count ?? 0) + 1, group });
}

function mostFrequent(choices: ReadonlyMap<string, SessionChoice>): SessionChoice[] {
  return [...choices.values()].sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** Sorts by a column; unknown values come last. */
function sorted(rows: readonly SessionRow[], state: ListState): SessionRow[] {
  const { sort, descending } = state.filter;
  const direction = descending ? -1 : 1;
  const column = COLUMNS.find(({ key }) => key === sort);
  const valued = rows.map(row => {
    const value = column?.value?.(row, state) ?? row.changed;
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
