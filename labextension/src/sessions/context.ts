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
  /** Compares the selected sessions. */
  compare(sessions: readonly SessionRow[]): void;
  /** The least number of selected sessions that can be compared; two if absent. */
  readonly least?: number;
}
