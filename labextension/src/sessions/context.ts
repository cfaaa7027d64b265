import type { TranslationBundle } from '@jupyterlab/translation';
import type { Reply, Task } from '../explorer/explorer_context.js';
import type { SessionRow } from './model.js';

/** The services that the list of sessions uses. */
export interface SessionsContext {
  readonly trans: TranslationBundle;
  /** What the person can do when the kernel has lost the list. */
  readonly recovery: string;
  /** Sends a request about the list to the kernel.  Rejects with `ExplorerLost`. */
  query(task: Task): Promise<Reply>;
  open(session: SessionRow): void;
  /** Compares two sessions; null where the front end cannot show a comparison. */
  readonly compare: ((a: SessionRow, b: SessionRow) => void) | null;
}
