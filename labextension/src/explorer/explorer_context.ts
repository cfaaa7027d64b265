import type { Channel } from '../shared/channel.js';
import type { CardContext } from '../shared/tokens.js';
import type { TraceOpened } from './model.js';

/** The review of several sessions to which an explorer's log belongs. */
export interface SessionReview {
  /** Something was written about the log. */
  changed(): void;
  /** Opens the next session. */
  next(): void;
}

/** The services that an explorer uses.  Where a front end lacks one it is null, and its controls are absent. */
export interface ExplorerContext extends CardContext {
  /** What the person can do when the kernel has lost the explorer. */
  readonly recovery: string;
  /** Returns what answers the explorer's requests now. */
  channel(): Channel;
  /** Inserts a cell, and runs it or places the cursor at its end. */
  readonly addCell: ((source: string, run: boolean) => void) | null;
  /** Lets the person choose other logs to compare with. */
  readonly compare: (() => void) | null;
  /** Opens a file; `path` is relative to the kernel's notebook or folder.  Returns false if the server cannot open it. */
  readonly openRelative: ((path: string) => boolean) | null;
  /** Returns the address of a step; absent, or without an address, the link that the kernel sends is copied. */
  readonly linkTo?: (step: TraceOpened) => string | Promise<string | null>;
  /** Whether a file answers instead of a kernel: it has the steps, and nothing that is computed from the whole log. */
  readonly isFile?: boolean;
  /** Called with the number of the step that the person selects. */
  readonly onStep?: ((number: string) => void) | null;
  /** Called with the name of the file in the log's folder that the explorer shows from now on. */
  readonly onContinue?: (name: string) => void;
  /** Absent or null for a log that is opened alone. */
  readonly review?: SessionReview | null;
  /** Copies text to the clipboard. */
  readonly copy: ((text: string) => Promise<void>) | null;
}
