// Generated from nbtools/traces/session_list/session_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseColumnBlock, type ColumnBlock } from '../shared/columns_model.js';

/** Asks to list the logs of a folder from now on. */
export interface AddFolderParams {
  readonly explorer: string;
  readonly folder: string;
}

/** The folder that was added; ``problem`` says why none was. ``listed`` sessions in it are listed, ``other`` files are not. ``endings`` are those of the names of files that may be logs. */
export interface AddedFolder {
  readonly folder: string;
  readonly problem: string;
  readonly listed: number;
  readonly other: number;
  readonly endings: string;
}
export const parseAddedFolder: parse.Parser<AddedFolder> = parse.record<AddedFolder>({
  folder: parse.otherwise(parse.text, ''),
  problem: parse.otherwise(parse.text, ''),
  listed: parse.otherwise(parse.number, 0),
  other: parse.otherwise(parse.number, 0),
  endings: parse.otherwise(parse.text, ''),
});

/** Says what a number means; ``name`` is its name in ``counts.DEFINITIONS``. */
export interface Definition {
  readonly name: string;
  readonly text: string;
}
export const parseDefinition: parse.Parser<Definition> = parse.record<Definition>({
  name: parse.text,
  text: parse.text,
});

/** A file in the folder of an agent, and why it is not listed; ``agent`` is empty in an added folder. */
export interface LeftOutFile {
  readonly path: string;
  readonly agent: string;
  readonly reason: string;
}
export const parseLeftOutFile: parse.Parser<LeftOutFile> = parse.record<LeftOutFile>({
  path: parse.text,
  agent: parse.text,
  reason: parse.text,
});

/** Asks which files are not listed. */
export interface LeftOutParams {
  readonly explorer: string;
}

/** Asks to open a session of the queue: the one with this ``id``, else the next unreviewed one after ``after``, or the first one if it is empty. */
export interface NextReviewParams {
  readonly explorer: string;
  readonly id: string;
  readonly after: string;
}

/** Asks to open one session, or to compare several. ``step`` is where a single one begins, as in ``LogParams``. */
export interface OpenSessionsParams {
  readonly explorer: string;
  readonly ids: readonly string[];
  readonly step: string;
}

/** Makes these sessions the queue, in this order, or a ``sample`` of them; none ends the review. */
export interface ReviewSessionsParams {
  readonly explorer: string;
  readonly ids: readonly string[];
  readonly sample: number | null;
  readonly seed: number;
}

/** The agreement of the reviewer with another one on ``items`` sessions of the queue: Cohen's κ, if it is defined, and the limits of its 95 % interval, if there is one. */
export interface ReviewerAgreement {
  readonly reviewer: string;
  readonly items: number;
  readonly kappa: number | null;
  readonly low: number | null;
  readonly high: number | null;
}
export const parseReviewerAgreement: parse.Parser<ReviewerAgreement> = parse.record<ReviewerAgreement>({
  reviewer: parse.text,
  items: parse.number,
  kappa: parse.otherwise(parse.nullable(parse.number), null),
  low: parse.otherwise(parse.nullable(parse.number), null),
  high: parse.otherwise(parse.nullable(parse.number), null),
});

/** Asks which sessions contain a text: in titles, projects and prompts words that begin with those of ``text``, if ``titles`` are wanted, and in the contents steps with all its words.

``search`` and ``known`` are those of the last answer for this text; 0 without one. */
export interface SearchSessionsParams {
  readonly explorer: string;
  readonly text: string;
  readonly search: number;
  readonly known: number;
  readonly titles: boolean;
}

/** Selects sessions and their order; empty fields select everything. ``since`` is the earliest last change and ``until`` the latest beginning, in seconds since the epoch; 0 for any. */
export interface SessionFilter {
  readonly text: string;
  readonly agent: string;
  readonly project: string;
  readonly outcome: '' | 'running' | 'failed' | 'clean' | 'changed';
  readonly sort: 'title' | 'agent' | 'model' | 'project' | 'started' | 'age' | 'duration' | 'calls' | 'failed' | 'edits' | 'tokens' | 'cost';
  readonly descending: boolean;
  readonly since: number;
  readonly until: number;
}
export const parseSessionFilter: parse.Parser<SessionFilter> = parse.record<SessionFilter>({
  text: parse.otherwise(parse.text, ''),
  agent: parse.otherwise(parse.text, ''),
  project: parse.otherwise(parse.text, ''),
  outcome: parse.otherwise(parse.oneOf('', 'running', 'failed', 'clean', 'changed'), ''),
  sort: parse.otherwise(parse.oneOf('title', 'agent', 'model', 'project', 'started', 'age', 'duration', 'calls', 'failed', 'edits', 'tokens', 'cost'), 'age'),
  descending: parse.otherwise(parse.flag, true),
  since: parse.otherwise(parse.number, 0.0),
  until: parse.otherwise(parse.number, 0.0),
});

/** The verdicts on the session with this key: the reviewer's own one, if there is one, and those of others with their names, as far as they are not hidden. */
export interface SessionVerdicts {
  readonly key: number;
  readonly mine: string;
  readonly others: string;
  readonly disagree: boolean;
}
export const parseSessionVerdicts: parse.Parser<SessionVerdicts> = parse.record<SessionVerdicts>({
  key: parse.number,
  mine: parse.otherwise(parse.text, ''),
  others: parse.otherwise(parse.text, ''),
  disagree: parse.otherwise(parse.flag, false),
});

/** Asks for the verdicts on listed sessions, unless they are still those of ``version``; first sets the reviewer's name and whether the reader is blind, where they are not None. */
export interface SessionReviewsParams {
  readonly explorer: string;
  readonly version: string;
  readonly reviewer: string | null;
  readonly blind: boolean | null;
}

/** Asks for the sessions that have changed since ``version``, 0 for all of them, or for the ``latest`` ones only. With ``look``, the agents' folders are looked at again first. */
export interface SessionRowsParams {
  readonly explorer: string;
  readonly version: number;
  readonly latest: boolean;
  readonly look: boolean;
}

/** The sums over the sessions of a day, a project, a model or an agent: ``usage.totals.Total``. ``label`` is its name for people, ``unpriced`` the number of requests that have no price, ``keys`` are the sessions of a model. ``lower_bound``: the cost would be more. */
export interface SessionTotal {
  readonly name: string;
  readonly label: string;
  readonly sessions: number;
  readonly calls: number | null;
  readonly failed: number | null;
  readonly tokens: number;
  readonly cost: number | null;
  readonly unpriced: number;
  readonly lower_bound: boolean;
  readonly keys: readonly number[];
}
export const parseSessionTotal: parse.Parser<SessionTotal> = parse.record<SessionTotal>({
  name: parse.text,
  label: parse.text,
  sessions: parse.number,
  calls: parse.otherwise(parse.nullable(parse.number), null),
  failed: parse.otherwise(parse.nullable(parse.number), null),
  tokens: parse.otherwise(parse.number, 0),
  cost: parse.otherwise(parse.nullable(parse.number), null),
  unpriced: parse.otherwise(parse.number, 0),
  lower_bound: parse.otherwise(parse.flag, false),
  keys: parse.otherwise(parse.list(parse.number), []),
});

/** Asks for the sums over sessions, of what they did from ``since`` to ``until``, in seconds since the epoch; 0 for any time. */
export interface SessionTotalsParams {
  readonly explorer: string;
  readonly keys: readonly number[];
  readonly since: number;
  readonly until: number;
}

/** The first of ``total`` files that are not listed, by path. */
export interface LeftOutFiles {
  readonly files: readonly LeftOutFile[];
  readonly total: number;
}
export const parseLeftOutFiles: parse.Parser<LeftOutFiles> = parse.record<LeftOutFiles>({
  files: parse.list(parseLeftOutFile),
  total: parse.number,
});

/** The list as it is displayed at first. ``explorer`` is its id in the kernel, which requests name. */
export interface SessionsView {
  readonly explorer: string;
  readonly filter: SessionFilter;
  readonly definitions: readonly Definition[];
}
export const parseSessionsView: parse.Parser<SessionsView> = parse.record<SessionsView>({
  explorer: parse.text,
  filter: parseSessionFilter,
  definitions: parse.otherwise(parse.list(parseDefinition), []),
});

/** The verdicts on listed sessions, and the queue: the ``keys`` of its sessions, of which ``done`` have a verdict of the reviewer. ``gone`` sessions of the queue are no longer there.

``changed`` is False, and nothing but the ``version`` counts, where the page has this version already. */
export interface SessionReviews {
  readonly version: string;
  readonly changed: boolean;
  readonly reviewer: string;
  readonly blind: boolean;
  readonly verdicts: readonly SessionVerdicts[];
  readonly keys: readonly number[];
  readonly done: number;
  readonly gone: number;
  readonly agreements: readonly ReviewerAgreement[];
}
export const parseSessionReviews: parse.Parser<SessionReviews> = parse.record<SessionReviews>({
  version: parse.text,
  changed: parse.otherwise(parse.flag, true),
  reviewer: parse.otherwise(parse.text, ''),
  blind: parse.otherwise(parse.flag, false),
  verdicts: parse.otherwise(parse.list(parseSessionVerdicts), []),
  keys: parse.otherwise(parse.list(parse.number), []),
  done: parse.otherwise(parse.number, 0),
  gone: parse.otherwise(parse.number, 0),
  agreements: parse.otherwise(parse.list(parseReviewerAgreement), []),
});

/** Sums by day, in the order of time, and by project, model and agent, the most expensive first. ``prices`` names the price lists; empty where none are installed. */
export interface SessionTotals {
  readonly day: readonly SessionTotal[];
  readonly project: readonly SessionTotal[];
  readonly model: readonly SessionTotal[];
  readonly agent: readonly SessionTotal[];
  readonly prices: string;
}
export const parseSessionTotals: parse.Parser<SessionTotals> = parse.record<SessionTotals>({
  day: parse.list(parseSessionTotal),
  project: parse.list(parseSessionTotal),
  model: parse.list(parseSessionTotal),
  agent: parse.list(parseSessionTotal),
  prices: parse.otherwise(parse.text, ''),
});

/** The sessions in which a text was found, as far as they were searched: the page asks again while ``left`` sessions are not.

``keys`` are those with the text in title, project or prompts, if these were wanted. ``block`` has a row for each session with the text in its contents that the page does not know, or whose hits have changed: its key, the number of ``hits``, and an ``excerpt`` of the first one. ``known`` counts these rows since the beginning of the search.

``missing`` sessions are not in the index of contents yet, ``changed`` ones have changed since they were indexed, ``incomplete`` ones cannot be searched completely. Without ``has_contents``, contents are not searched at all. */
export interface FoundSessions {
  readonly search: number;
  readonly known: number;
  readonly keys: readonly number[];
  readonly block: ColumnBlock;
  readonly left: number;
  readonly missing: number;
  readonly changed: number;
  readonly incomplete: number;
  readonly has_contents: boolean;
}
export const parseFoundSessions: parse.Parser<FoundSessions> = parse.record<FoundSessions>({
  search: parse.number,
  known: parse.number,
  keys: parse.list(parse.number),
  block: parseColumnBlock,
  left: parse.otherwise(parse.number, 0),
  missing: parse.otherwise(parse.number, 0),
  changed: parse.otherwise(parse.number, 0),
  incomplete: parse.otherwise(parse.number, 0),
  has_contents: parse.otherwise(parse.flag, true),
});

/** Sessions that are new or have changed up to ``version``; ``more``: only the latest ones.

``block`` has their columns (``session_list.rows``), ``gone`` the keys of those that are no longer there. ``now`` is the kernel's time in seconds. ``left`` logs were found and not listed yet, ``left_out`` files in the agents' folders are not listed. ``folders`` are those that were looked at, if there is no session at all. */
export interface SessionRows {
  readonly version: number;
  readonly more: boolean;
  readonly block: ColumnBlock;
  readonly gone: readonly number[];
  readonly now: number;
  readonly left: number;
  readonly left_out: number;
  readonly folders: readonly string[];
}
export const parseSessionRows: parse.Parser<SessionRows> = parse.record<SessionRows>({
  version: parse.number,
  more: parse.flag,
  block: parseColumnBlock,
  gone: parse.otherwise(parse.list(parse.number), []),
  now: parse.number,
  left: parse.otherwise(parse.number, 0),
  left_out: parse.otherwise(parse.number, 0),
  folders: parse.otherwise(parse.list(parse.text), []),
});
