// Generated from nbtools/traces/session_list/session_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';

export const SESSIONS_MIME = 'application/vnd.nbtools.sessions.v1+json';

/** Asks to open one session, or to compare several, by their ids. */
export interface OpenSessionsTask {
  readonly type: 'open_sessions';
  readonly ids: readonly string[];
}

/** A value to filter by: ``key`` goes into the filter. */
export interface SessionChoice {
  readonly key: string;
  readonly label: string;
  readonly count: number;
}
export const parseSessionChoice: parse.Parser<SessionChoice> = parse.record<SessionChoice>({
  key: parse.text,
  label: parse.text,
  count: parse.number,
});

/** Selects sessions and their order; empty fields select everything. */
export interface SessionFilter {
  readonly text: string;
  readonly agent: string;
  readonly project: string;
  readonly outcome: '' | 'running' | 'failed' | 'clean' | 'changed';
  readonly sort: 'title' | 'agent' | 'model' | 'project' | 'age' | 'duration' | 'calls' | 'failed' | 'edits' | 'tokens';
  readonly descending: boolean;
}
export const parseSessionFilter: parse.Parser<SessionFilter> = parse.record<SessionFilter>({
  text: parse.otherwise(parse.text, ''),
  agent: parse.otherwise(parse.text, ''),
  project: parse.otherwise(parse.text, ''),
  outcome: parse.otherwise(parse.oneOf('', 'running', 'failed', 'clean', 'changed'), ''),
  sort: parse.otherwise(parse.oneOf('title', 'agent', 'model', 'project', 'age', 'duration', 'calls', 'failed', 'edits', 'tokens'), 'age'),
  descending: parse.otherwise(parse.flag, true),
});

/** One session. Texts are as displayed; an empty one is not recorded, or not known yet.

``folder`` is the project's path and ``project`` its name. ``age`` is the time since the log's last change, ``times`` says when that was and when the session began. ``unread``: the log has not been read as a whole in its current state. ``doubt`` says why a number is unreliable, ``problem`` why the log cannot be read. */
export interface SessionRow {
  readonly id: string;
  readonly title: string;
  readonly agent: string;
  readonly model: string;
  readonly project: string;
  readonly folder: string;
  readonly age: string;
  readonly times: string;
  readonly duration: string;
  readonly calls: string;
  readonly failed: string;
  readonly added: string;
  readonly removed: string;
  readonly tokens: string;
  readonly running: boolean;
  readonly unread: boolean;
  readonly doubt: string;
  readonly problem: string;
}
export const parseSessionRow: parse.Parser<SessionRow> = parse.record<SessionRow>({
  id: parse.text,
  title: parse.text,
  agent: parse.text,
  model: parse.otherwise(parse.text, ''),
  project: parse.otherwise(parse.text, ''),
  folder: parse.otherwise(parse.text, ''),
  age: parse.otherwise(parse.text, ''),
  times: parse.otherwise(parse.text, ''),
  duration: parse.otherwise(parse.text, ''),
  calls: parse.otherwise(parse.text, ''),
  failed: parse.otherwise(parse.text, ''),
  added: parse.otherwise(parse.text, ''),
  removed: parse.otherwise(parse.text, ''),
  tokens: parse.otherwise(parse.text, ''),
  running: parse.otherwise(parse.flag, false),
  unread: parse.otherwise(parse.flag, false),
  doubt: parse.otherwise(parse.text, ''),
  problem: parse.otherwise(parse.text, ''),
});

/** Asks for ``count`` sessions from index ``first``. With ``look``, the agents' folders are looked at again first. */
export interface SessionsTask {
  readonly type: 'sessions';
  readonly filter: SessionFilter;
  readonly first: number;
  readonly count: number;
  readonly look: boolean;
}

/** Sessions under a filter, ``total`` of them; ``all`` sessions are on this machine.

``unread`` of those under the filter are not read as a whole yet, ``left`` logs were found and not listed yet. ``unreadable`` files in the agents' folders are in no known format. ``folders`` are those that were looked at, if there is no session at all. */
export interface SessionsPage {
  readonly type: 'sessions';
  readonly first: number;
  readonly total: number;
  readonly all: number;
  readonly rows: readonly SessionRow[];
  readonly agents: readonly SessionChoice[];
  readonly projects: readonly SessionChoice[];
  readonly unread: number;
  readonly left: number;
  readonly unreadable: number;
  readonly folders: readonly string[];
}
export const parseSessionsPage: parse.Parser<SessionsPage> = parse.record<SessionsPage>({
  type: parse.oneOf('sessions'),
  first: parse.number,
  total: parse.number,
  all: parse.number,
  rows: parse.list(parseSessionRow),
  agents: parse.otherwise(parse.list(parseSessionChoice), []),
  projects: parse.otherwise(parse.list(parseSessionChoice), []),
  unread: parse.otherwise(parse.number, 0),
  left: parse.otherwise(parse.number, 0),
  unreadable: parse.otherwise(parse.number, 0),
  folders: parse.otherwise(parse.list(parse.text), []),
});

/** The initial view. ``explorer`` is the list's id in the kernel, which requests name. */
export interface SessionsView {
  readonly explorer: string;
  readonly filter: SessionFilter;
  readonly page: SessionsPage;
}
export const parseSessionsView: parse.Parser<SessionsView> = parse.record<SessionsView>({
  explorer: parse.text,
  filter: parseSessionFilter,
  page: parseSessionsPage,
});
