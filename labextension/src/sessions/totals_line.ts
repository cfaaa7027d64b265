import type { TranslationBundle } from '@jupyterlab/translation';
import { countText, dollars, type SessionRow, shortNumber } from './session_rows.js';

/** The sums over sessions, without their unknown numbers; NaN where none is known. */
export interface Totals {
  readonly sessions: number;
  /** Those whose logs were read as a whole. */
  readonly read: number;
  readonly calls: number;
  readonly failed: number;
  readonly tokens: number;
  readonly cost: number;
  /** Whether a session has tokens and no cost, or a cost that is a lower bound. */
  readonly isLowerBound: boolean;
}

/** Adds up sessions. */
export function totalsOf(rows: Iterable<SessionRow>): Totals {
  let [sessions, read, calls, failed, tokens, cost] = [0, 0, NaN, NaN, NaN, NaN];
  let isLowerBound = false;
  for (const row of rows) {
    sessions += 1;
    read += Number(!row.unread);
    calls = plus(calls, row.calls);
    failed = plus(failed, row.failed);
    tokens = plus(tokens, row.tokens);
    cost = plus(cost, row.cost);
    isLowerBound ||= row.costText.startsWith('≥') || (row.tokens > 0 && Number.isNaN(row.cost));
  }
  return { sessions, read, calls, failed, tokens, cost, isLowerBound };
}

/** Returns the sums in a line: `12 sessions · 345 calls · 6 failed · 78 M tokens · $9.10`. */
export function totalsText({ sessions, read, calls, failed, tokens, cost, isLowerBound }: Totals, trans: TranslationBundle): string {
  const parts = [
    trans._n('%1 session', '%1 sessions', sessions).replace(String(sessions), countText(sessions)),
    Number.isNaN(calls) ? '' : trans._n('%1 call', '%1 calls', calls).replace(String(calls), countText(calls)),
    Number.isNaN(failed) ? '' : trans.__('%1 failed', countText(failed)),
    Number.isNaN(tokens) ? '' : trans.__('%1 tokens', shortNumber(tokens)),
    cost ? `${isLowerBound ? '≥ ' : ''}${dollars(cost)}` : '',
    read < sessions ? trans.__('%1 of %2 read', countText(read), countText(sessions)) : ''
  ];
  return parts.filter(Boolean).join(' · ');
}

/** Adds a number that may be unknown. */
function plus(sum: number, value: number): number {
  return Number.isNaN(value) ? sum : (sum || 0) + value;
}
