import type { SessionTotal } from './model.js';

/** The sum of a day, a week or a month. */
export interface DayBar {
  /** Its first and its last day, as dates such as `2026-11-29`. */
  readonly from: string;
  readonly to: string;
  readonly value: number;
}

const DAY = 86_400_000;
/** Most bars of a kind: more days are weeks, more weeks months, more months years, and more years centuries, as a date may be broken. */
const MOST = 120;

/** A kind of bar: when the one of a time begins, and when the one after a beginning does. */
interface Unit {
  readonly days: number;
  startOf(time: number): number;
  next(start: number): number;
}

const UNITS: readonly Unit[] = [
  { days: 1, startOf: time => time, next: start => start + DAY },
  { days: 7, startOf: time => time - ((new Date(time).getUTCDay() + 6) % 7) * DAY, next: start => start + 7 * DAY },
  ...[1, 12, 1200].map(monthsUnit)
];

/** Returns bars without gaps from the first to the last day: of days, else of weeks, which begin on Mondays, or of longer times. */
export function dayBars(days: readonly SessionTotal[], valueOf: (total: SessionTotal) => number): DayBar[] {
  const known = days.filter(({ name }) => Number.isFinite(timeOf(name)));
  if (!known.length) {
    return [];
  }
  const times = known.map(({ name }) => timeOf(name));
  // No spread arguments: a log made by somebody else may have more days than a call takes.
  const first = times.reduce((one, other) => Math.min(one, other));
  const last = times.reduce((one, other) => Math.max(one, other));
  const count = (last - first) / DAY;
  const { startOf, next: nextOf } = UNITS.find(({ days }) => count < MOST * days) ?? UNITS.at(-1)!;
  const values = new Map<number, number>();
  known.forEach(total => {
    const start = startOf(timeOf(total.name));
    values.set(start, (values.get(start) ?? 0) + valueOf(total));
  });
  const bars: DayBar[] = [];
  for (let start = startOf(first); start <= last;) {
    const next = nextOf(start);
    bars.push({ from: dateOf(start), to: dateOf(next - DAY), value: values.get(start) ?? 0 });
    start = next;
  }
  return bars;
}

function monthsUnit(months: number): Unit {
  const startOf = (time: number, later = 0) => {
    const day = new Date(time);
    const month = day.getUTCFullYear() * 12 + day.getUTCMonth();
    const start = new Date(0);
    start.setUTCFullYear(0, Math.floor(month / months) * months + later, 1); // unlike Date.UTC, it takes the years before 100 as they are
    return start.getTime();
  };
  return { days: months * 28, startOf: time => startOf(time), next: start => startOf(start, months) };
}

function timeOf(date: string): number {
  return /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00Z`) : NaN;
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
