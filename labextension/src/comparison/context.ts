import type { TranslationBundle } from '@jupyterlab/translation';
import type { ExplorerContext, Reply, Task } from '../explorer/explorer_context.js';

/** What the front end provides for pages that open explorers in their place: the list of sessions, a comparison. */
export interface PlaceContext {
  readonly trans: TranslationBundle;
  /** What the person can do when the kernel has lost the page. */
  readonly recovery: string;
  /** Sends a request to the kernel, about the page or one of the explorers opened from it.  Rejects with `ExplorerLost`. */
  query(explorer: string, task: Task): Promise<Reply>;
  /** Returns the context of an explorer that was opened from the page. */
  explorer(query: (task: Task) => Promise<Reply>): ExplorerContext;
}

/** The services that a comparison uses. */
export interface ComparisonContext extends Pick<PlaceContext, 'trans'> {
  /** Sends a request about the comparison; a failure is a `problem`. */
  query(task: Task): Promise<Reply>;
  /** Opens the explorer of a run at one of its steps; an empty one: at its beginning. */
  open(run: number, step: string): void;
}
