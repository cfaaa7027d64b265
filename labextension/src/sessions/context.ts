import type { TranslationBundle } from '@jupyterlab/translation';
import type { Client } from '../shared/channel.js';
import type { SESSION_METHODS } from '../explorer/model.js';
import type { SessionRow } from './session_rows.js';
import type { TotalsRequest } from './totals_page.js';

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
  /** The least number of selected sessions that can be compared; two if absent. */
  readonly least?: number;
}
