import type { TraceBar } from './wire.js';

export interface Rect {
  readonly x: number;
  readonly width: number;
  readonly height: number;
  readonly tone: TraceBar['tone'];
}

/** Lines of the log, both inclusive. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Pixels that a bar is wide at most; a short log leaves the rest of the strip free. */
const WIDEST = 28;

/** How much of the strip's width the bars take. */
export function widthOf(bars: readonly TraceBar[], room: number): number {
  return Math.min(room, bars.length * WIDEST);
}

/** How many lines the bars stand for. */
export function linesOf(bars: readonly TraceBar[]): number {
  return bars.length ? bars[bars.length - 1]!.last + 1 : 0;
}

/** Bars as rectangles on device pixels: `dpr` of them make one pixel of the page, and one of the page stays free between two bars. */
export function rects(bars: readonly TraceBar[], width: number, height: number, dpr: number): Rect[] {
  const total = linesOf(bars);
  return bars.map(bar => {
    const [x, end] = [bar.first, bar.last + 1].map(line => Math.round((line / total) * width)) as [number, number];
    const gap = end - x > 2 * dpr ? dpr : 0;
    return { x, width: Math.max(end - x - gap, 1), height: Math.max(Math.round((bar.height / 100) * height), dpr), tone: bar.tone };
  });
}

/** The line under a point; `x` may lie outside. */
export function lineAt(x: number, width: number, total: number): number {
  return Math.min(Math.max(Math.floor((x / Math.max(width, 1)) * total), 0), Math.max(total - 1, 0));
}

/** The bars' lines between two points, whole bars only, so that the brush shows what it takes. */
export function rangeBetween(bars: readonly TraceBar[], one: number, other: number, width: number): Range {
  const total = linesOf(bars);
  const [from, to] = [Math.min(one, other), Math.max(one, other)].map(x => lineAt(x, width, total)) as [number, number];
  return { first: barOf(bars, from)?.first ?? from, last: barOf(bars, to)?.last ?? to };
}

export function barOf(bars: readonly TraceBar[], line: number): TraceBar | undefined {
  return bars.find(bar => line <= bar.last);
}

/** The bar beside the one with `line`, `steps` further; the outermost where there is none. */
export function barBeside(bars: readonly TraceBar[], line: number, steps: number): TraceBar | undefined {
  const here = bars.findIndex(bar => line <= bar.last);
  return bars[Math.min(Math.max((here < 0 ? bars.length - 1 : here) + steps, 0), bars.length - 1)];
}
