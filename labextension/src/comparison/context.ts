import type { TranslationBundle } from '@jupyterlab/translation';
import type { Client } from '../shared/channel.js';
import type { COMPARISON_METHODS } from '../explorer/model.js';

/** Steps in the first request, whose answer is drawn before the others are there. */
export const FIRST_STEPS = 2000;

/** The services that a comparison uses. */
export interface ComparisonContext {
  readonly trans: TranslationBundle;
  readonly client: Pick<Client<keyof typeof COMPARISON_METHODS>, 'request'>;
  /** Returns why a request has no result; rethrows any other error. */
  problemOf(error: unknown): string;
  /** Opens the explorer of a run at one of its steps; an empty one: at its beginning. */
  open(run: number, step: string): void;
  /** Opens the log of a run in a tab of its own; absent where there are no tabs. */
  readonly openTab?: ((run: number) => void) | undefined;
}
