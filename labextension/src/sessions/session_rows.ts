import { readColumns, type Columns } from '../shared/columns.js';
import type { Buffers } from '../shared/methods.js';
import type { SessionReviews, SessionRows } from './model.js';

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
  /** The folder of the repository that the project's folder is in, or is a worktree of. */
  readonly repository: string;
  readonly repositoryText: string;
  /** When it began and changed last, as a text; and the last change in seconds since the epoch. */
  readonly times: string;
  readonly changed: number;
  /** When it began, in seconds since the epoch, and its day. */
  readonly started: number;
  readonly startedText: string;
  readonly duration: number;
  readonly durationText: string;
  readonly calls: number;
  readonly failed: number;
  readonly edits: number;
  readonly added: number;
  readonly removed: number;
  readonly tokens: number;
  readonly tokensText: string;
  /** US dollars; `costText` begins with ≥ where something has no price. */
  readonly cost: number;
  readonly costText: string;
  readonly costNote: string;
  readonly running: boolean;
  /** Whether the kernel is going to read its log as a whole. */
  readonly unread: boolean;
  readonly doubt: string;
  readonly problem: string;
  /** The reviewer's verdict, and those of others with their names. */
  readonly verdict: string;
  readonly others: string;
  readonly disagree: boolean;
  /** Whether it is one of those that are being reviewed. */
  readonly queued: boolean;
}

/** What reviewers say about a session. */
type Judgement = Pick<SessionRow, 'verdict' | 'others' | 'disagree' | 'queued'>;

const UNJUDGED: Judgement = { verdict: '', others: '', disagree: false, queued: false };

const RUNNING = 1;
const UNREAD = 2;

/** All sessions on a machine, by their keys. */
export class SessionStore {
  readonly rows = new Map<number, SessionRow>();
  version = 0;
  private readonly judgements = new Map<number, Judgement>();

  /** Takes over sessions that have changed; returns whether there are any, or null if the answer is damaged. */
  add({ block, gone, version, buffers }: SessionRows & Buffers): boolean | null {
    const columns = buffers[0] ? readColumns(block, buffers[0]) : null;
    if (columns === null) {
      return null;
    }
    for (let i = 0; i < columns.count; i++) {
      const row = rowAt(columns, i);
      this.rows.set(row.key, { ...row, ...this.judgements.get(row.key) });
    }
    gone.forEach(key => this.rows.delete(key));
    this.version = version;
    return columns.count > 0 || gone.length > 0;
  }

  /** Takes over the verdicts and the queue; returns whether they differ for a session. */
  review({ verdicts, keys }: SessionReviews): boolean {
    const queue = new Set(keys);
    const judged = new Map(verdicts.map(({ key, mine, others, disagree }) => [key, { verdict: mine, others, disagree }]));
    let isChanged = false;
    this.judgements.clear();
    for (const key of new Set([...judged.keys(), ...keys])) {
      this.judgements.set(key, { ...UNJUDGED, ...judged.get(key), queued: queue.has(key) });
    }
    for (const [key, row] of this.rows) {
      const now = this.judgements.get(key) ?? UNJUDGED;
      if (row.verdict !== now.verdict || row.others !== now.others || row.disagree !== now.disagree || row.queued !== now.queued) {
        this.rows.set(key, { ...row, ...now });
        isChanged = true;
      }
    }
    return isChanged;
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
    repository: word('repository'),
    repositoryText: word('repository_text'),
    times: text('times'),
    changed: number('changed'),
    started: number('started'),
    startedText: word('started_text'),
    duration: number('duration'),
    durationText: word('duration_text'),
    calls: number('calls'),
    failed: number('failed'),
    edits: number('edits'),
    added: number('added'),
    removed: number('removed'),
    tokens: number('tokens'),
    tokensText: word('tokens_text'),
    cost: number('cost'),
    costText: word('cost_text'),
    costNote: word('cost_note'),
    running: (flags & RUNNING) > 0,
    unread: (flags & UNREAD) > 0,
    doubt: word('doubt'),
    problem: word('problem'),
    ...UNJUDGED
  };
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

const UNITS = [
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9]
] as const;

/** Formats a large count as the kernel does: `812`, `38 k`, `1.2 M`. */
export function shortNumber(count: number): string {
  const [unit, size] = UNITS.find(([unit, size]) => count < 999.5 * size || unit === 'G')!;
  const value = count / size;
  return count < 1000 ? String(count) : `${value < 9.95 ? value.toFixed(1) : Math.round(value).toLocaleString('en-US')} ${unit}`;
}

/** Formats US dollars as the kernel does. */
export function dollars(amount: number): string {
  const digits = amount >= 0.1 || amount === 0 ? 2 : 4;
  return `$${amount.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
