import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { element } from '../shared/element.js';
import { onRedraw } from './redraws.js';
import type { ListedLines, Range } from './timeline_bars.js';
import type { TraceBar } from './model.js';

export type Tone = TraceBar['tone'] | 'cached';

/** Maximum movement of the pointer during a click, in pixels. */
const CLICK_TOLERANCE = 4;
/** Height of the area below the bars, in pixels, for marks, so that failures are not shown by color alone. */
export const MARK_HEIGHT = 5;
/** How opaque bars are whose lines the filter does not list. */
export const UNLISTED = 0.3;
const TONES: readonly Tone[] = ['person', 'agent', 'quiet', 'done', 'changed', 'failed', 'stopped', 'unknown', 'cached'];
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageUp: -10,
  PageDown: 10,
  Home: -Infinity,
  End: Infinity
};

export interface StripEvents {
  goToLine(line: number): void;
  /** Selects a range of lines; null removes it. */
  selectRange(range: Range | null): void;
  /** Goes to the next failed step, or with −1 to the previous one. */
  goToFailure(direction: 1 | -1): void;
}

/** Where the selected line is: its bar's number and description, and its place as a share of the width, null if it has none. */
export interface Position {
  readonly value: number;
  readonly text: string;
  readonly at: number | null;
}

/** An overview of the log as bars.  A click selects a line, dragging selects a range; for the keyboard it is a slider. */
export abstract class StripView {
  readonly node = element('div', 'nbtools-trace-strip');
  /** What heights and colors mean; only colors that occur. */
  readonly legend = element('div', 'nbtools-trace-legend');
  protected readonly canvas = element('canvas');
  /** Width of the bars, in pixels. */
  protected width = 0;
  protected line: number | null = null;
  /** The lines that the filter lists; null without one. */
  protected listed: ListedLines | null = null;
  private readonly marks = element('div', 'nbtools-trace-marks');
  private readonly rangeMark = element('div', 'nbtools-trace-window');
  private readonly cursor = element('div', 'nbtools-trace-cursor');
  private readonly probes = TONES.map(tone => element('span', `nbtools-trace-tone-${tone}`));
  private range: Range | null = null;
  private dragStart: number | null = null;
  /** The start and the end of a range that is selected with the keyboard. */
  private anchor: number | null = null;
  private edge = 0;
  private readonly redraws: IDisposable;

  constructor(
    protected readonly trans: TranslationBundle,
    protected readonly events: StripEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'slider');
    this.rangeMark.hidden = this.cursor.hidden = true;
    this.marks.append(this.rangeMark, this.cursor);
    this.node.append(this.canvas, element('div', 'nbtools-trace-tones', ...this.probes), this.marks);
    this.node.addEventListener('pointerdown', event => this.onDown(event));
    this.node.addEventListener('pointermove', event => this.onMove(event));
    this.node.addEventListener('pointerup', event => this.onUp(event));
    this.node.addEventListener('pointercancel', () => this.cancelDrag());
    this.node.addEventListener('dblclick', () => this.events.selectRange(null));
    this.redraws = onRedraw(this.node, () => this.draw());
  }

  /** Returns the bar that stands for a line. */
  protected abstract barOf(line: number): Range | undefined;
  /** Returns the bar `steps` after the one that stands for a line; −1 is before the first one. */
  protected abstract barAfter(line: number, steps: number): Range | undefined;
  /** Returns the lines between two positions, in pixels. */
  protected abstract linesBetween(x1: number, x2: number): Range | null;
  /** Returns the line at a position, in pixels. */
  protected abstract lineAt(x: number, event: PointerEvent): number | undefined;
  /** Returns start and end of a range as shares of the width; null if no bar stands for it. */
  protected abstract extent(range: Range): readonly [number, number] | null;
  protected abstract position(): Position;
  protected abstract paint(context: CanvasRenderingContext2D, dpr: number, colours: ReadonlyMap<Tone, string>): void;

  /** Returns the width of the bars, of the pixels that there are. */
  protected barsWidth(available: number): number {
    return available;
  }

  /** Shows the selected line and the selected range. */
  mark(line: number | null, range: Range | null): void {
    this.line = line;
    this.range = range;
    this.drawMarks();
  }

  /** Shows which lines the filter lists; null if there is none. */
  showListed(listed: ListedLines | null): void {
    const isSame = listed === this.listed;
    this.listed = listed;
    isSame || this.draw();
  }

  /** Handles a key; false if it has no function here. */
  onKey(event: KeyboardEvent): boolean {
    const steps = STEPS[event.key];
    if (event.key === 'Escape') {
      this.anchor = null;
      this.events.selectRange(null);
    } else if (steps !== undefined) {
      this.moveBy(steps, event.shiftKey);
    }
    return event.key === 'Escape' || steps !== undefined;
  }

  dispose(): void {
    this.redraws.dispose();
  }

  protected draw(): void {
    const { clientWidth, clientHeight } = this.canvas;
    const context = this.canvas.getContext('2d');
    if (!context || clientWidth === 0) {
      return;
    }
    const dpr = window.devicePixelRatio || 1;
    this.width = this.barsWidth(clientWidth);
    this.marks.style.width = `${this.width}px`;
    this.canvas.width = Math.round(clientWidth * dpr);
    this.canvas.height = Math.round(clientHeight * dpr);
    this.paint(context, dpr, new Map(TONES.map((tone, i) => [tone, getComputedStyle(this.probes[i]!).color])));
    this.drawMarks();
  }

  /** Draws the legend: each color that occurs with its meaning, between other nodes. */
  protected drawLegend(before: readonly Node[], tones: readonly (readonly [Tone, string, boolean])[], after: readonly Node[]): void {
    const items = tones
      .filter(([, , occurs]) => occurs)
      .map(([tone, label]) => element('span', `nbtools-trace-tone-${tone}`, element('span', '', label)));
    this.legend.replaceChildren(...before, ...items, ...after);
    this.legend.title = [...this.legend.children].map(({ textContent }) => textContent).join(' · ');
  }

  private moveBy(steps: number, extendsRange: boolean): void {
    const from = extendsRange && this.anchor !== null ? this.edge : (this.line ?? -1);
    const bar = this.barAfter(from, steps);
    if (!bar) {
      return;
    }
    if (!extendsRange) {
      this.anchor = null;
      this.mark(bar.first, this.range);
      this.events.goToLine(bar.first);
      return;
    }
    this.anchor ??= Math.max(from, 0);
    this.edge = bar.first;
    const start = this.barOf(this.anchor) ?? bar;
    this.events.selectRange({ first: Math.min(start.first, bar.first), last: Math.max(start.last, bar.last) });
  }

  private onDown(event: PointerEvent): void {
    if (event.button === 0) {
      this.dragStart = this.x(event);
      this.anchor = null;
      this.node.setPointerCapture(event.pointerId);
    }
  }

  private onMove(event: PointerEvent): void {
    if (this.dragStart !== null && Math.abs(this.x(event) - this.dragStart) >= CLICK_TOLERANCE) {
      this.drawRange(this.linesBetween(this.dragStart, this.x(event)));
    }
  }

  private onUp(event: PointerEvent): void {
    const { dragStart } = this;
    this.cancelDrag();
    if (dragStart === null) {
      return;
    }
    const end = this.x(event);
    if (Math.abs(end - dragStart) >= CLICK_TOLERANCE) {
      this.events.selectRange(this.linesBetween(dragStart, end));
    } else if (event.detail < 2) {
      const line = this.lineAt(end, event);
      line === undefined || this.events.goToLine(line);
    }
  }

  private cancelDrag(): void {
    this.dragStart = null;
    this.drawMarks();
  }

  protected x(event: PointerEvent): number {
    return event.clientX - this.canvas.getBoundingClientRect().left;
  }

  private drawMarks(): void {
    const { trans, range } = this;
    const { value, text, at } = this.position();
    const listed = range ? `, ${trans.__('listed: lines %1 to %2', range.first + 1, range.last + 1)}` : '';
    this.node.setAttribute('aria-valuenow', String(value));
    this.node.setAttribute('aria-valuetext', text + listed);
    this.cursor.hidden = at === null;
    this.cursor.style.left = `${(at ?? 0) * 100}%`;
    this.drawRange(range);
  }

  private drawRange(range: Range | null): void {
    const extent = range && this.extent(range);
    this.rangeMark.hidden = !extent;
    if (extent) {
      this.rangeMark.style.left = `${extent[0] * 100}%`;
      this.rangeMark.style.width = `${(extent[1] - extent[0]) * 100}%`;
    }
  }
}
