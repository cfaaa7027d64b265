import type { SessionTotal } from './model.js';

/** The sum of a day, a week or a month. */
export interface DayBar {
  /** Its first and its last day, as dates such as `2026-11-29`. */
  readonly from: string;
  readonly to: string;
  readonly value: number;
}

const DAY = 86_400_000;
/** Most bars: more days are weeks, more weeks are months. */
const MOST = 92;

/** Returns bars without gaps from the first to the last day: of days, else of weeks, which begin on Mondays, or of months. */
export function dayBars(days: readonly SessionTotal[], valueOf: (total: SessionTotal) => number): DayBar[] {
  const known = days.filter(({ name }) => Number.isFinite(timeOf(name)));
  if (!known.length) {
    return [];
  }
  const times = known.map(({ name }) => timeOf(name));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const count = (last - first) / DAY;
  const startOf = count < MOST ? (time: number) => time : count < MOST * 7 ? weekOf : monthOf;
  const values = new Map<number, number>();
  known.forEach(total => {
    const start = startOf(timeOf(total.name));
    values.set(start, (values.get(start) ?? 0) + valueOf(total));
  });
  const bars: DayBar[] = [];
  for (let start = startOf(first); start <= last;) {
    const next = nextOf(start, startOf);
    bars.push({ from: dateOf(start), to: dateOf(next - DAY), value: values.get(start) ?? 0 });
    start = next;
  }
  return bars;
}

function nextOf(start: number, startOf: (time: number) => number): number {
  let next = start + DAY;
  while (startOf(next) === start) {
    next += DAY;
  }
  return next;
}

function weekOf(time: number): number {
  return time - ((new Date(time).getUTCDay() + 6) % 7) * DAY;
}

function monthOf(time: number): number {
  const day = new Date(time);
  return Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), 1);
}

function timeOf(date: string): number {
  return /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00Z`) : NaN;
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
