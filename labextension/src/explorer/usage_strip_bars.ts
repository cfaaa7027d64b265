import type { Range } from './timeline_bars.js';
import type { StripBar } from './model.js';

/** Length of the axis of a `StripBar`. */
export const AXIS = 10_000;

/** Returns the bars that stand for steps: the others mark waits. */
export function stepBars(bars: readonly StripBar[]): StripBar[] {
  return bars.filter(({ mark }) => mark !== 'waiting');
}

/** Returns the bar at a position of the axis, or the nearest one; bars of the lane come first. */
export function barAtPoint(bars: readonly StripBar[], at: number, lane: number): StripBar | undefined {
  const distance = (bar: StripBar) => Math.max(bar.start - at, at - bar.end, 0) + Math.abs(bar.lane - lane) * AXIS;
  return stepBars(bars).reduce<StripBar | undefined>((best, bar) => (best && distance(best) <= distance(bar) ? best : bar), undefined);
}

/** Returns the lines of all bars between two positions; null if there are none. */
export function linesBetween(bars: readonly StripBar[], x1: number, x2: number): Range | null {
  const [from, to] = [Math.min(x1, x2), Math.max(x1, x2)];
  const inside = stepBars(bars).filter(bar => bar.end >= from && bar.start <= to);
  return inside.length ? { first: Math.min(...inside.map(bar => bar.first)), last: Math.max(...inside.map(bar => bar.last)) } : null;
}

/** Returns the bar that stands for a line: of several, the one for the fewest lines; without one, the last bar before the line. */
export function barOfLine(bars: readonly StripBar[], line: number): StripBar | undefined {
  const size = (bar: StripBar) => bar.last - bar.first;
  const steps = stepBars(bars);
  const around = steps.filter(bar => bar.first <= line && line <= bar.last);
  if (around.length) {
    return around.reduce((best, bar) => (size(bar) < size(best) ? bar : best));
  }
  return steps
    .filter(bar => bar.first <= line)
    .reduce<StripBar | undefined>((best, bar) => (best && best.first >= bar.first ? best : bar), undefined);
}

/** Returns the bar `steps` after the one that stands for the line, in the order of the log. */
export function barAfter(bars: readonly StripBar[], line: number, steps: number): StripBar | undefined {
  const ordered = stepBars(bars).sort((a, b) => a.first - b.first || a.lane - b.lane);
  const lines = [...new Set(ordered.map(({ first }) => first))];
  const current = barOfLine(bars, line)?.first ?? -1;
  const next = lines[Math.min(Math.max(lines.indexOf(current) + steps, 0), lines.length - 1)];
  return ordered.find(({ first }) => first === next);
}
