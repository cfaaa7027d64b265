import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { element, linkButton } from '../shared/element.js';
import { onRedraw } from './redraws.js';
import { barAtOffset, barAt, lineAt, lineCount, rangeBetween, barRects, barsWidth, type Range } from './timeline_bars.js';
import type { TraceBar } from './model.js';

/** Maximum movement of the pointer during a click, in pixels. */
const CLICK_TOLERANCE = 4;
const TONES: readonly TraceBar['tone'][] = ['person', 'agent', 'quiet', 'done', 'changed', 'failed', 'stopped', 'unknown'];
/** Height of the area below the bars, in pixels, for marks of failed calls, so that failures are not shown by color alone. */
const MARK_HEIGHT = 5;

export interface TimelineEvents {
  goToLine(line: number): void;
  /** Selects a range of lines; null removes it. */
  selectRange(range: Range | null): void;
  /** Goes to the next failed step, or with −1 to the previous one. */
  goToFailure(direction: 1 | -1): void;
}

/** An overview of the log as bars.  A click selects a line, dragging selects a range; for the keyboard it is a slider. */
export class TimelineView {
  readonly node = element('div', 'nbtools-trace-strip');
  /** What heights and colors mean; only colors that occur. */
  readonly legend = element('div', 'nbtools-trace-legend');
  private readonly canvas = element('canvas');
  private readonly marks = element('div', 'nbtools-trace-marks');
  private readonly rangeMark = element('div', 'nbtools-trace-window');
  private readonly cursor = element('div', 'nbtools-trace-cursor');
  private readonly toneProbes = new Map(TONES.map(tone => [tone, element('span', `nbtools-trace-tone-${tone}`)]));
  private bars: readonly TraceBar[] = [];
  private range: Range | null = null;
  private line: number | null = null;
  private dragStart: number | null = null;
  /** The start and the end of a range that is selected with the keyboard. */
  private anchor: number | null = null;
  private edge = 0;
  private width = 0;
  private readonly redraws: IDisposable;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: TimelineEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'slider');
    this.node.setAttribute('aria-label', trans.__('Timeline: arrow keys select a step, Shift and arrow keys select a range'));
    this.node.title = trans.__('Click to go to a step, drag to list only a range, double-click to list all steps');
    this.rangeMark.hidden = this.cursor.hidden = true;
    const tones = element('div', 'nbtools-trace-tones', ...this.toneProbes.values());
    this.marks.append(this.rangeMark, this.cursor);
    this.node.append(this.canvas, tones, this.marks);
    this.node.addEventListener('pointerdown', event => this.onDown(event));
    this.node.addEventListener('pointermove', event => this.onMove(event));
    this.node.addEventListener('pointerup', event => this.onUp(event));
    this.node.addEventListener('pointercancel', () => this.cancelDrag());
    this.node.addEventListener('dblclick', () => this.events.selectRange(null));
    this.redraws = onRedraw(this.node, () => this.draw());
  }

  update(bars: readonly TraceBar[]): void {
    this.bars = bars;
    this.node.hidden = this.legend.hidden = bars.length < 2;
    this.drawLegend();
    this.draw();
  }

  /** Shows the selected line and the selected range. */
  mark(line: number | null, range: Range | null): void {
    this.line = line;
    this.range = range;
    this.drawMarks();
  }

  /** Handles a key; false if it has no function here. */
  onKey(event: KeyboardEvent): boolean {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity }[
      event.key
    ];
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

  private drawLegend(): void {
    const { trans } = this;
    const tones = new Set<TraceBar['tone']>(this.bars.map(({ tone }) => tone));
    const labels: [TraceBar['tone'], string, boolean][] = [
      ['person', trans.__('person'), tones.has('person')],
      ['changed', trans.__('changed files'), tones.has('changed')],
      ['failed', trans.__('failed'), this.bars.some(({ failed }) => failed > 0)],
      ['stopped', trans.__('stopped'), tones.has('stopped')]
    ];
    const items = labels
      .filter(([, , occurs]) => occurs)
      .map(([tone, label]) => element('span', `nbtools-trace-tone-${tone}`, element('span', '', label)));
    const failures = this.bars.some(({ failed }) => failed > 0);
    this.legend.replaceChildren(
      element('span', '', trans.__('Height: amount of text')),
      ...items,
      element('span', 'nbtools-trace-tone-done', element('span', '', trans.__('other steps'))),
      ...(failures ? [this.failureLinks()] : [])
    );
  }

  private failureLinks(): HTMLElement {
    const { trans } = this;
    const link = (sign: string, label: string, key: string, direction: 1 | -1) => {
      const node = linkButton(sign, () => this.events.goToFailure(direction), `${label} (${key})`);
      node.setAttribute('aria-label', label);
      return node;
    };
    return element(
      'span',
      '',
      trans.__('Failures:'),
      link('↑', trans.__('Previous failure'), 'E', -1),
      link('↓', trans.__('Next failure'), 'e', 1)
    );
  }

  private moveBy(steps: number, extendsRange: boolean): void {
    const from = extendsRange && this.anchor !== null ? this.edge : (this.line ?? 0);
    const bar = barAtOffset(this.bars, from, steps);
    if (!bar) {
      return;
    }
    if (!extendsRange) {
      this.anchor = null;
      this.mark(bar.first, this.range);
      this.events.goToLine(bar.first);
      return;
    }
    this.anchor ??= from;
    this.edge = bar.first;
    const start = barAt(this.bars, this.anchor)!;
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
      this.drawRange(rangeBetween(this.bars, this.dragStart, this.x(event), this.width));
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
      this.events.selectRange(rangeBetween(this.bars, dragStart, end, this.width));
    } else if (event.detail < 2) {
      this.events.goToLine(lineAt(end, this.width, lineCount(this.bars)));
    }
  }

  private cancelDrag(): void {
    this.dragStart = null;
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
    this.width = barsWidth(this.bars, clientWidth);
    this.marks.style.width = `${this.width}px`;
    this.canvas.width = Math.round(clientWidth * dpr);
    this.canvas.height = Math.round(clientHeight * dpr);
    const colours = new Map([...this.toneProbes].map(([tone, probe]) => [tone, getComputedStyle(probe).color]));
    const base = this.canvas.height - Math.round(MARK_HEIGHT * dpr);
    for (const { x, width, height, tone, failed } of barRects(this.bars, Math.round(this.width * dpr), base, dpr)) {
      context.fillStyle = colours.get(tone)!;
      context.fillRect(x, base - height, width, height);
      if (failed > 0) {
        const part = tone === 'failed' ? 0 : Math.max(Math.round(failed * height), Math.round(2 * dpr));
        context.fillStyle = colours.get('failed')!;
        context.fillRect(x, base - part, width, part);
        context.fillRect(x, base + Math.round(2 * dpr), width, Math.round(2 * dpr));
      }
    }
    this.drawMarks();
  }

  private drawMarks(): void {
    const total = lineCount(this.bars);
    this.node.setAttribute('aria-valuemin', '1');
    this.node.setAttribute('aria-valuemax', String(Math.max(total, 1)));
    this.node.setAttribute('aria-valuenow', String((this.line ?? 0) + 1));
    this.node.setAttribute('aria-valuetext', this.valueText(total));
    this.cursor.hidden = this.line === null;
    this.cursor.style.left = `${(((this.line ?? 0) + 0.5) / Math.max(total, 1)) * 100}%`;
    this.drawRange(this.range);
  }

  private valueText(total: number): string {
    const { trans, range } = this;
    const position = trans.__('line %1 of %2', (this.line ?? 0) + 1, total);
    return range ? `${position}, ${trans.__('listed: lines %1 to %2', range.first + 1, range.last + 1)}` : position;
  }

  private drawRange(range: Range | null): void {
    const total = Math.max(lineCount(this.bars), 1);
    this.rangeMark.hidden = range === null;
    if (range) {
      this.rangeMark.style.left = `${(range.first / total) * 100}%`;
      this.rangeMark.style.width = `${((range.last + 1 - range.first) / total) * 100}%`;
    }
  }
}
