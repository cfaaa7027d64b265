import type { Surroundings } from '../tokens.js';
import type { TraceAnswer, TraceRequest } from './wire.js';

export type Task = TraceRequest['task'];
export type Reply = NonNullable<TraceAnswer['reply']>;

/** No kernel knows the explorer any more: it was restarted, or nobody has run the cell since the notebook was opened. */
export class Gone extends Error {}

/** What an explorer needs from the place where it stands. */
export interface Desk extends Surroundings {
  /** The kernel's answer; a `problem` is one too.  Rejects with `Gone`. */
  query(task: Task): Promise<Reply>;
  /** A new cell below the one with the explorer: run, or with the cursor at its end to be completed. */
  addCell(source: string, run: boolean): void;
  /** Opens a file; `place` is its path as seen from the notebook's folder.  False where the server cannot reach it. */
  openBeside(place: string): boolean;
  /** Puts text on the clipboard. */
  copy(text: string): Promise<void>;
}
