// Generated from nbtools/notebook/agent/run_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseCardAction, parseTextBlock, type CardAction, type TextBlock } from '../cards/model.js';

export const AGENT_MIME = 'application/vnd.nbtools.agent.v1+json';

/** A file that a run changed, with the lines that its calls added and removed; null where they are not known. */
export interface RunFile {
  readonly path: string;
  readonly added: number | null;
  readonly removed: number | null;
}
export const parseRunFile: parse.Parser<RunFile> = parse.record<RunFile>({
  path: parse.text,
  added: parse.otherwise(parse.nullable(parse.number), null),
  removed: parse.otherwise(parse.nullable(parse.number), null),
});

/** The state of a run, kept up to date. ``figures`` are in order of importance: those without room are left out. */
export interface RunHead {
  readonly type: 'head';
  readonly run: string;
  readonly model: string;
  readonly state: 'validating' | 'scheduled' | 'awaiting_approval' | 'executing' | 'success' | 'error' | 'cancelled';
  readonly status: string;
  readonly figures: readonly string[];
  readonly can_stop: boolean;
}
export const parseRunHead: parse.Parser<RunHead> = parse.record<RunHead>({
  type: parse.oneOf('head'),
  run: parse.text,
  model: parse.text,
  state: parse.oneOf('validating', 'scheduled', 'awaiting_approval', 'executing', 'success', 'error', 'cancelled'),
  status: parse.text,
  figures: parse.otherwise(parse.list(parse.text), []),
  can_stop: parse.otherwise(parse.flag, false),
});

/** Why a run ended, what it used and changed, and how to continue. ``undo`` takes back all changes; its id has those of the calls. */
export interface RunFoot {
  readonly type: 'foot';
  readonly state: 'validating' | 'scheduled' | 'awaiting_approval' | 'executing' | 'success' | 'error' | 'cancelled';
  readonly status: string;
  readonly figures: readonly string[];
  readonly problem: string;
  readonly files: readonly RunFile[];
  readonly undo: CardAction | null;
  readonly actions: readonly ('continue' | 'play-on' | 'open-trace')[];
}
export const parseRunFoot: parse.Parser<RunFoot> = parse.record<RunFoot>({
  type: parse.oneOf('foot'),
  state: parse.oneOf('validating', 'scheduled', 'awaiting_approval', 'executing', 'success', 'error', 'cancelled'),
  status: parse.text,
  figures: parse.otherwise(parse.list(parse.text), []),
  problem: parse.otherwise(parse.text, ''),
  files: parse.otherwise(parse.list(parseRunFile), []),
  undo: parse.otherwise(parse.nullable(parseCardAction), null),
  actions: parse.otherwise(parse.list(parse.oneOf('continue', 'play-on', 'open-trace')), []),
});

/** The text that the model has written so far. ``thought`` is the label of a folded thinking block, empty for a message. */
export interface RunMessage {
  readonly type: 'said';
  readonly block: TextBlock;
  readonly thought: string;
}
export const parseRunMessage: parse.Parser<RunMessage> = parse.record<RunMessage>({
  type: parse.oneOf('said'),
  block: parseTextBlock,
  thought: parse.otherwise(parse.text, ''),
});

/** One display of a run. */
export interface RunView {
  readonly part: RunFoot | RunHead | RunMessage;
}
export const parseRunView: parse.Parser<RunView> = parse.record<RunView>({
  part: parse.tagged<RunFoot | RunHead | RunMessage>({ foot: parseRunFoot, head: parseRunHead, said: parseRunMessage }),
});
