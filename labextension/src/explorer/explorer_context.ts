import type { CardContext } from '../shared/tokens.js';
import type { TraceAnswer, TraceRequest } from './model.js';

export type Task = TraceRequest['task'];
export type Reply = NonNullable<TraceAnswer['reply']>;

/** The kernel does not have this explorer: it was restarted, or the cell has not been run since the notebook was opened. */
export class ExplorerLost extends Error {}

/** The services that an explorer uses. */
export interface ExplorerContext extends CardContext {
  /** Sends a request to the kernel and returns its reply, which may be a `problem`.  Rejects with `ExplorerLost`. */
  query(task: Task): Promise<Reply>;
  /** Inserts a cell below the explorer's cell, and runs it or places the cursor at its end. */
  addCell(source: string, run: boolean): void;
  /** Opens a file; `path` is relative to the notebook's folder.  Returns false if the server cannot open it. */
  openRelative(path: string): boolean;
  /** Copies text to the clipboard. */
  copy(text: string): Promise<void>;
}
