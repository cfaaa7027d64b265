import type { TraceBar } from './model.js';

export interface Rect {
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly tone: TraceBar['tone'];
  /** The share of lines that failed, from 0 to 1. */
  readonly failed: number;
}

/** A range of lines of the log; both ends are inclusive. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Maximum width of a bar in pixels; a short log does not fill the timeline. */
const MAX_BAR_WIDTH = 28;

/** Returns the width of all bars in pixels. */
export function barsWidth(bars: readonly TraceBar[], available: number): number {
  return Math.min(available, bars.length * MAX_BAR_WIDTH);
}

/** Returns the number of lines that the bars represent. */
export function lineCount(bars: readonly TraceBar[]): number {
  return bars.length ? bars[bars.length - 1]!.last + 1 : 0;
}

/** Converts bars to rectangles in device pixels, with a gap of one CSS pixel (`dpr` device pixels) between bars. */
export function barRects(bars: readonly TraceBar[], width: number, height: number, dpr: number): Rect[] {
  const total = lineCount(bars);
  return bars.map(bar => {
    const [x, end] = [bar.first, bar.last + 1].map(line => Math.round((line / total) * width)) as [number, number];
    const gap = end - x > 2 * dpr ? dpr : 0;
    return {
      x,
      width: Math.max(end - x - gap, 1),
      height: Math.max(Math.round((bar.height / 100) * height), dpr),
      tone: bar.tone,
      failed: bar.failed / (bar.last + 1 - bar.first)
    };
  });
}

/** Returns the line at a horizontal position; positions outside are clamped. */
export function lineAt(x: number, width: number, total: number): number {
  return Math.min(Math.max(Math.floor((x / Math.max(width, 1)) * total), 0), Math.max(total - 1, 0));
}

/** Returns the lines between two horizontal positions, extended to whole bars. */
export function rangeBetween(bars: readonly TraceBar[], x1: number, x2: number, width: number): Range {
  const total = lineCount(bars);
  const [from, to] = [Math.min(x1, x2), Math.max(x1, x2)].map(x => lineAt(x, width, total)) as [number, number];
  return { first: barAt(bars, from)?.first ?? from, last: barAt(bars, to)?.last ?? to };
}

export function barAt(bars: readonly TraceBar[], line: number): TraceBar | undefined {
  return bars.find(bar => line <= bar.last);
}

/** Returns the bar `steps` after the bar that contains `line`, clamped to the first and the last bar; −1 is before the first one. */
export function barAtOffset(bars: readonly TraceBar[], line: number, steps: number): TraceBar | undefined {
  const found = line < 0 ? -1 : bars.indexOf(barAt(bars, line) ?? bars.at(-1)!);
  return bars[Math.min(Math.max(found + steps, 0), bars.length - 1)];
}
