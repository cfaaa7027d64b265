import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../element.js';
import { barBeside, barOf, lineAt, linesOf, rangeBetween, rects, widthOf, type Range } from './bars.js';
import type { TraceBar } from './wire.js';

/** Pixels that a pointer may tremble in a click. */
const TREMBLE = 4;
const TONES: readonly TraceBar['tone'][] = ['person', 'agent', 'quiet', 'done', 'changed', 'failed', 'stopped', 'unknown'];
/** Pixels under the bars for the marks of what failed: colour alone would not tell. */
const GROUND = 5;

export interface StripEvents {
  jump(line: number): void;
  /** Null takes the range away. */
  brush(range: Range | null): void;
}

/** The whole log as bars: a click goes there, drawing lists only a range.  By keyboard it is a slider. */
export class StripView {
  readonly node = element('div', 'nbtools-trace-strip');
  private readonly canvas = element('canvas');
  private readonly marks = element('div', 'nbtools-trace-marks');
  private readonly window = element('div', 'nbtools-trace-window');
  private readonly cursor = element('div', 'nbtools-trace-cursor');
  private readonly probes = new Map(TONES.map(tone => [tone, element('span', `nbtools-trace-tone-${tone}`)]));
  private bars: readonly TraceBar[] = [];
  private range: Range | null = null;
  private line: number | null = null;
  private start: number | null = null;
  /** Where a range that the keys draw begins, and where it has come to. */
  private anchor: number | null = null;
  private edge = 0;
  private width = 0;
  private readonly watcher = new ResizeObserver(() => this.draw());
  private readonly themes = new MutationObserver(() => this.draw());

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: StripEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'slider');
    this.node.setAttribute('aria-label', trans.__('The whole log; arrow keys move, Shift with them marks a range'));
    this.node.title = trans.__('Click to go there, draw to list only a part, double-click for all');
    this.window.hidden = this.cursor.hidden = true;
    const tones = element('div', 'nbtools-trace-tones', ...this.probes.values());
    this.marks.append(this.window, this.cursor);
    this.node.append(this.canvas, tones, this.marks);
    this.node.addEventListener('pointerdown', event => this.onDown(event));
    this.node.addEventListener('pointermove', event => this.onMove(event));
    this.node.addEventListener('pointerup', event => this.onUp(event));
    this.node.addEventListener('pointercancel', () => this.drop());
    this.node.addEventListener('dblclick', () => this.events.brush(null));
    this.watcher.observe(this.node);
    this.themes.observe(document.body, { attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light'] });
  }

  update(bars: readonly TraceBar[]): void {
    this.bars = bars;
    this.node.hidden = bars.length < 2;
    this.draw();
  }

  /** Shows where the list stands and what it is narrowed to. */
  mark(line: number | null, range: Range | null): void {
    this.line = line;
    this.range = range;
    this.drawMarks();
  }

  /** What a key means here; false where it means nothing. */
  onKey(event: KeyboardEvent): boolean {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[event.key];
    if (event.key === 'Escape') {
      this.anchor = null;
      this.events.brush(null);
    } else if (steps !== undefined) {
      this.step(steps, event.shiftKey);
    }
    return event.key === 'Escape' || steps !== undefined;
  }

  dispose(): void {
    this.watcher.disconnect();
    this.themes.disconnect();
  }

  private step(steps: number, ranged: boolean): void {
    const from = ranged && this.anchor !== null ? this.edge : (this.line ?? 0);
    const bar = barBeside(this.bars, from, steps);
    if (!bar) {
      return;
    }
    if (!ranged) {
      this.anchor = null;
      this.mark(bar.first, this.range);
      this.events.jump(bar.first);
      return;
    }
    this.anchor ??= from;
    this.edge = bar.first;
    const start = barOf(this.bars, this.anchor)!;
    this.events.brush({ first: Math.min(start.first, bar.first), last: Math.max(start.last, bar.last) });
  }

  private onDown(event: PointerEvent): void {
    if (event.button === 0) {
      this.start = this.x(event);
      this.anchor = null;
      this.node.setPointerCapture(event.pointerId);
    }
  }

  private onMove(event: PointerEvent): void {
    if (this.start !== null && Math.abs(this.x(event) - this.start) >= TREMBLE) {
      this.drawWindow(rangeBetween(this.bars, this.start, this.x(event), this.width));
    }
  }

  private onUp(event: PointerEvent): void {
    const { start } = this;
    this.drop();
    if (start === null) {
      return;
    }
    const end = this.x(event);
    if (Math.abs(end - start) >= TREMBLE) {
      this.events.brush(rangeBetween(this.bars, start, end, this.width));
    } else if (event.detail < 2) {
      this.events.jump(lineAt(end, this.width, linesOf(this.bars)));
    }
  }

  private drop(): void {
    this.start = null;
    this.drawMarks();
  }

  private x(event: PointerEvent): number {
    return event.clientX - this.canvas.getBoundingClientRect().left;
  }

  private draw(): void {
    const { clientWidth, clientHeight } = this.canvas;
    const context = this.canvas.getContext('2d');
    if (!context || clientWidth === 0) {
      return;
    }
    const dpr = window.devicePixelRatio || 1;
    this.width = widthOf(this.bars, clientWidth);
    this.marks.style.width = `${this.width}px`;
    this.canvas.width = Math.round(clientWidth * dpr);
    this.canvas.height = Math.round(clientHeight * dpr);
    const colours = new Map([...this.probes].map(([tone, probe]) => [tone, getComputedStyle(probe).color]));
    const base = this.canvas.height - Math.round(GROUND * dpr);
    for (const { x, width, height, tone } of rects(this.bars, Math.round(this.width * dpr), base, dpr)) {
      context.fillStyle = colours.get(tone)!;
      context.fillRect(x, base - height, width, height);
      if (tone === 'failed') {
        context.fillRect(x, base + Math.round(2 * dpr), width, Math.round(2 * dpr));
      }
    }
    this.drawMarks();
  }

  private drawMarks(): void {
    const total = linesOf(this.bars);
    this.node.setAttribute('aria-valuemin', '1');
    this.node.setAttribute('aria-valuemax', String(Math.max(total, 1)));
    this.node.setAttribute('aria-valuenow', String((this.line ?? 0) + 1));
    this.node.setAttribute('aria-valuetext', this.spoken(total));
    this.cursor.hidden = this.line === null;
    this.cursor.style.left = `${(((this.line ?? 0) + 0.5) / Math.max(total, 1)) * 100}%`;
    this.drawWindow(this.range);
  }

  private spoken(total: number): string {
    const { trans, range } = this;
    const here = trans.__('line %1 of %2', (this.line ?? 0) + 1, total);
    return range ? `${here}, ${trans.__('listed: lines %1 to %2', range.first + 1, range.last + 1)}` : here;
  }

  private drawWindow(range: Range | null): void {
    const total = Math.max(linesOf(this.bars), 1);
    this.window.hidden = range === null;
    if (range) {
      this.window.style.left = `${(range.first / total) * 100}%`;
      this.window.style.width = `${((range.last + 1 - range.first) / total) * 100}%`;
    }
  }
}
