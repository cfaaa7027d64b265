// Generated from nbtools/notebook/state/state_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseQuestionData, type QuestionData } from '../approval/model.js';
import { parseCard, type Card } from '../cards/model.js';

export const STATE_EVENT = 'state';
export const LOADED_EVENT = 'loaded';
export const UNLOADED_EVENT = 'unloaded';

/** A call or an agent run. */
export interface CallParams {
  readonly call: string;
}

/** A file that a call changed, relative to the workspace. The numbers of lines are null where they are not known. */
export interface ChangedFile {
  readonly path: string;
  readonly added: number | null;
  readonly removed: number | null;
}
export const parseChangedFile: parse.Parser<ChangedFile> = parse.record<ChangedFile>({
  path: parse.text,
  added: parse.nullable(parse.number),
  removed: parse.nullable(parse.number),
});

/** The person has confirmed a consequence. */
export interface ConfirmParams {
  readonly token: string;
}

/** The effect of a request, for the person to confirm. The request is only carried out with its ``token``, once. */
export interface Consequence {
  readonly token: string;
  readonly title: string;
  readonly lines: readonly string[];
  readonly accept: string;
}
export const parseConsequence: parse.Parser<Consequence> = parse.record<Consequence>({
  token: parse.text,
  title: parse.text,
  lines: parse.list(parse.text),
  accept: parse.text,
});

/** A background call or an agent run that has ended. */
export interface EndedCall {
  readonly id: string;
  readonly type: 'background' | 'run';
  readonly tool: string;
  readonly subject: string;
  readonly status: string;
  readonly failed: boolean;
}
export const parseEndedCall: parse.Parser<EndedCall> = parse.record<EndedCall>({
  id: parse.text,
  type: parse.oneOf('background', 'run'),
  tool: parse.text,
  subject: parse.text,
  status: parse.text,
  failed: parse.flag,
});

export interface GrantParams {
  readonly rule: string;
}

/** A rule that the person has granted, and in words what it covers. */
export interface GrantRow {
  readonly rule: string;
  readonly covers: string;
  readonly saved: boolean;
  readonly since: number;
  readonly granted_for: string;
}
export const parseGrantRow: parse.Parser<GrantRow> = parse.record<GrantRow>({
  rule: parse.text,
  covers: parse.text,
  saved: parse.flag,
  since: parse.number,
  granted_for: parse.text,
});

/** A call or an agent run in progress. ``started`` is in seconds since the epoch, by the kernel's clock. */
export interface RunningCall {
  readonly id: string;
  readonly type: 'call' | 'background' | 'run';
  readonly tool: string;
  readonly icon: string;
  readonly subject: string;
  readonly started: number;
  readonly cell: string;
}
export const parseRunningCall: parse.Parser<RunningCall> = parse.record<RunningCall>({
  id: parse.text,
  type: parse.oneOf('call', 'background', 'run'),
  tool: parse.text,
  icon: parse.text,
  subject: parse.text,
  started: parse.number,
  cell: parse.text,
});

/** An MCP server, and what can be done with it now. */
export interface ServerRow {
  readonly name: string;
  readonly state: string;
  readonly failed: boolean;
  readonly tools: readonly string[];
  readonly target: string;
  readonly source: string;
  readonly trust: string;
  readonly problem: string;
  readonly verbs: readonly ('connect' | 'disconnect' | 'trust' | 'distrust' | 'enable' | 'disable')[];
}
export const parseServerRow: parse.Parser<ServerRow> = parse.record<ServerRow>({
  name: parse.text,
  state: parse.text,
  failed: parse.flag,
  tools: parse.list(parse.text),
  target: parse.text,
  source: parse.text,
  trust: parse.text,
  problem: parse.text,
  verbs: parse.list(parse.oneOf('connect', 'disconnect', 'trust', 'distrust', 'enable', 'disable')),
});

/** A permission mode. ``looser``: it allows what the current mode does not. */
export interface ModeChoice {
  readonly name: string;
  readonly meaning: string;
  readonly looser: boolean;
}
export const parseModeChoice: parse.Parser<ModeChoice> = parse.record<ModeChoice>({
  name: parse.text,
  meaning: parse.text,
  looser: parse.flag,
});

export interface ModeParams {
  readonly mode: string;
}

/** A rule with its source: a file, or empty for the rules of this session. ``off``: the project is not trusted. */
export interface RuleRow {
  readonly action: 'allow' | 'ask' | 'deny';
  readonly rule: string;
  readonly covers: string;
  readonly source: string;
  readonly off: boolean;
}
export const parseRuleRow: parse.Parser<RuleRow> = parse.record<RuleRow>({
  action: parse.oneOf('allow', 'ask', 'deny'),
  rule: parse.text,
  covers: parse.text,
  source: parse.text,
  off: parse.flag,
});

/** The page has drawn the snapshot with this number, and is ready for the next one. */
export interface SeenParams {
  readonly number: number;
}

export interface ServerParams {
  readonly name: string;
  readonly verb: 'connect' | 'disconnect' | 'trust' | 'distrust' | 'enable' | 'disable';
}

/** Undoes a call; of an undo's id, redoes the call. ``later``: also all later changes of this session. */
export interface UndoParams {
  readonly call: string;
  readonly later: boolean;
}

/** The changes of one call. ``undone_by`` is the call that undoing it would redo; empty unless it is undone.

``unsaved`` says why the call, a command, may have changed more than undo restores; empty if it did not. */
export interface FileChange {
  readonly id: string;
  readonly tool: string;
  readonly files: readonly ChangedFile[];
  readonly more: number;
  readonly at: number;
  readonly undone_by: string;
  readonly partly: boolean;
  readonly unsaved: string;
}
export const parseFileChange: parse.Parser<FileChange> = parse.record<FileChange>({
  id: parse.text,
  tool: parse.text,
  files: parse.list(parseChangedFile),
  more: parse.number,
  at: parse.number,
  undone_by: parse.text,
  partly: parse.flag,
  unsaved: parse.otherwise(parse.text, ''),
});

export interface RulesState {
  readonly mode: string;
  readonly modes: readonly ModeChoice[];
  readonly grants: readonly GrantRow[];
  readonly rules: readonly RuleRow[];
}
export const parseRulesState: parse.Parser<RulesState> = parse.record<RulesState>({
  mode: parse.text,
  modes: parse.list(parseModeChoice),
  grants: parse.list(parseGrantRow),
  rules: parse.list(parseRuleRow),
});

/** The outcome of a request: done unless there is a consequence to confirm first. ``diff`` is the result of ``panel.diff``. */
export interface StateOutcome {
  readonly confirm: Consequence | null;
  readonly diff: Card | null;
}
export const parseStateOutcome: parse.Parser<StateOutcome> = parse.record<StateOutcome>({
  confirm: parse.otherwise(parse.nullable(parseConsequence), null),
  diff: parse.otherwise(parse.nullable(parseCard), null),
});

/** A question that waits for an answer, and the id of the cell that asks; empty where no cell does. */
export interface WaitingQuestion {
  readonly data: QuestionData;
  readonly cell: string;
}
export const parseWaitingQuestion: parse.Parser<WaitingQuestion> = parse.record<WaitingQuestion>({
  data: parseQuestionData,
  cell: parse.text,
});

/** The state of a kernel; a part that has not changed since the snapshot before is null.

``number`` counts the snapshots for one page. ``now`` is the kernel's clock. */
export interface KernelState {
  readonly number: number;
  readonly now: number;
  readonly folder: string;
  readonly root: string;
  readonly questions: readonly WaitingQuestion[] | null;
  readonly running: readonly RunningCall[] | null;
  readonly ended: readonly EndedCall[] | null;
  readonly changes: readonly FileChange[] | null;
  readonly rules: RulesState | null;
  readonly servers: readonly ServerRow[] | null;
}
export const parseKernelState: parse.Parser<KernelState> = parse.record<KernelState>({
  number: parse.number,
  now: parse.number,
  folder: parse.text,
  root: parse.text,
  questions: parse.otherwise(parse.nullable(parse.list(parseWaitingQuestion)), null),
  running: parse.otherwise(parse.nullable(parse.list(parseRunningCall)), null),
  ended: parse.otherwise(parse.nullable(parse.list(parseEndedCall)), null),
  changes: parse.otherwise(parse.nullable(parse.list(parseFileChange)), null),
  rules: parse.otherwise(parse.nullable(parseRulesState), null),
  servers: parse.otherwise(parse.nullable(parse.list(parseServerRow)), null),
});

export const STATE_METHODS = {
  'panel.answer': parseStateOutcome,
  'panel.confirm': parseStateOutcome,
  'panel.diff': parseStateOutcome,
  'panel.mode': parseStateOutcome,
  'panel.revoke': parseStateOutcome,
  'panel.seen': parse.nothing,
  'panel.server': parseStateOutcome,
  'panel.start': parseStateOutcome,
  'panel.stop': parseStateOutcome,
  'panel.undo': parseStateOutcome,
  'state.follow': parse.nothing,
  'state.leave': parse.nothing,
};
