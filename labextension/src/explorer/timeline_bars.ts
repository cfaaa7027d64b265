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

/** The lines that a filter lists: `counts[i]` is how many of the lines before `i` are listed. */
export class ListedLines {
  private readonly counts: Uint32Array;

  constructor(
    lines: ArrayLike<number>,
    total: number,
    private readonly toneAt: (line: number) => string
  ) {
    this.counts = new Uint32Array(total + 1);
    for (let i = 0; i < lines.length; i++) {
      this.counts[lines[i]! + 1] = 1;
    }
    this.counts.forEach((count, line) => line && (this.counts[line] = count + this.counts[line - 1]!));
  }

  /** Returns how many of the lines of a range are listed. */
  count({ first, last }: Range): number {
    const end = this.counts.length - 1;
    return this.counts[Math.min(last + 1, end)]! - this.counts[Math.min(first, end)]!;
  }

  /** Returns the tone that stands for the listed lines of a range, by the rule by which the kernel chooses that of a bar. */
  tone(range: Range): TraceBar['tone'] {
    const counts = new Map<string, number>();
    for (let line = range.first; line <= range.last; line++) {
      const isListed = this.counts[line + 1]! > this.counts[line]!;
      isListed && counts.set(this.toneAt(line), (counts.get(this.toneAt(line)) ?? 0) + 1);
    }
    const least = this.count(range) / TONE_SHARE;
    return TONE_RANK.find(tone => (counts.get(tone) ?? 0) >= Math.max(least, 1)) ?? 'done';
  }
}

/** Of these, a bar has the first that at least one in `TONE_SHARE` of its lines has. */
const TONE_RANK = ['failed', 'stopped', 'changed', 'person'] as const;
const TONE_SHARE = 8;

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
