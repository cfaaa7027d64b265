import type { TranslationBundle } from '@jupyterlab/translation';
import type { Client } from '../shared/channel.js';
import type { ReviewedLog, SESSION_METHODS } from '../explorer/model.js';
import type { SessionRow } from './session_rows.js';
import type { TotalsRequest } from './totals_page.js';

/** How a session of a review is opened. */
export interface ReviewOpening {
  /** Asks the kernel to open it. */
  ask(): Promise<ReviewedLog>;
  /** What stands above it: progress, and the way to the next one. */
  readonly line: HTMLElement;
  opened(log: ReviewedLog): void;
  /** Something was written about it. */
  changed(): void;
  /** Opens the session after this one. */
  next(session: string): void;
}

/** The services that the list of sessions uses. */
export interface SessionsContext {
  readonly trans: TranslationBundle;
  readonly client: Pick<Client<keyof typeof SESSION_METHODS>, 'request'>;
  /** Returns why a request has no result; rethrows any other error. */
  problemOf(error: unknown): string;
  /** Opens a session: at the first hit of a text, unless that is empty. */
  open(session: SessionRow, text: string): void;
  /** Compares the selected sessions. */
  compare(sessions: readonly SessionRow[]): void;
  /** Shows the sums over sessions by day, project, model and agent. */
  totals(request: TotalsRequest): void;
  /** Opens a session to review; absent where the person chooses sessions for something else. */
  review?(opening: ReviewOpening): void;
  /** The least number of selected sessions that can be compared; two if absent. */
  readonly least?: number;
}
