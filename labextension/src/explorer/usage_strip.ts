import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { element } from '../shared/element.js';
import type { StripBar, TraceStrip } from './model.js';
import { onRedraw } from './redraws.js';
import type { TimelineEvents } from './timeline.js';
import type { Range } from './timeline_bars.js';
import { AXIS, barAfter, barAtPoint, barOfLine, linesBetween } from './usage_strip_bars.js';

/** Maximum movement of the pointer during a click, in pixels. */
const CLICK_TOLERANCE = 4;
const MARK_HEIGHT = 5;
const PARTS = ['person', 'quiet', 'changed'] as const;
const TONES = ['person', 'quiet', 'changed', 'failed', 'stopped', 'agent', 'done', 'unknown'] as const;
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

/** The overview over time, with lanes, or over the tokens of the requests.  It is used like the timeline of steps. */
export class UsageStripView {
  readonly node = element('div', 'nbtools-trace-strip nbtools-trace-usage-strip');
  readonly legend = element('div', 'nbtools-trace-legend nbtools-trace-usage-legend');
  private readonly canvas = element('canvas');
  private readonly ticks = element('div', 'nbtools-trace-ticks');
  private readonly marks = element('div', 'nbtools-trace-marks');
  private readonly rangeMark = element('div', 'nbtools-trace-window');
  private readonly cursor = element('div', 'nbtools-trace-cursor');
  private readonly probes = new Map(TONES.map(tone => [tone as StripBar['tone'], element('span', `nbtools-trace-tone-${tone}`)]));
  private strip: TraceStrip | null = null;
  private line: number | null = null;
  private range: Range | null = null;
  private dragStart: number | null = null;
  private anchor: number | null = null;
  private edge = 0;
  private readonly redraws: IDisposable;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: TimelineEvents
  ) {
    this.node.tabIndex = 0;
    this.node.setAttribute('role', 'slider');
    this.node.setAttribute('aria-valuemin', '0');
    this.ticks.setAttribute('aria-hidden', 'true');
    this.rangeMark.hidden = this.cursor.hidden = true;
    this.marks.append(this.rangeMark, this.cursor);
    this.node.append(this.canvas, element('div', 'nbtools-trace-tones', ...this.probes.values()), this.marks, this.ticks);
    this.node.addEventListener('pointerdown', event => this.onDown(event));
    this.node.addEventListener('pointermove', event => this.onMove(event));
    this.node.addEventListener('pointerup', event => this.onUp(event));
    this.node.addEventListener('pointercancel', () => this.cancelDrag());
    this.node.addEventListener('dblclick', () => this.events.selectRange(null));
    this.redraws = onRedraw(this.node, () => this.draw());
  }

  update(strip: TraceStrip): void {
    const { trans } = this;
    this.strip = strip;
    const [label, hint] =
      strip.mode === 'time'
        ? [trans.__('Time: arrow keys select a step, Shift and arrow keys select a range'), trans.__('Time of the session, waits included')]
        : [trans.__('Tokens: arrow keys select a request, Shift and arrow keys select a range'), trans.__('Tokens of each request')];
    this.node.setAttribute('aria-label', label);
    this.node.setAttribute('aria-valuemax', String(Math.max(strip.bars.length, 1)));
    this.node.title = hint;
    this.node.classList.toggle('nbtools-trace-with-ticks', strip.ticks.length > 0);
    this.ticks.replaceChildren(...strip.ticks.map(({ at, label: text }) => this.tick(at, text)));
    this.drawLegend(strip);
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

  private get bars(): readonly StripBar[] {
    return this.strip?.bars ?? [];
  }

  private tick(at: number, text: string): HTMLElement {
    const node = element('span', '', text);
    node.style.left = `${(at / AXIS) * 100}%`;
    return node;
  }

  private drawLegend(strip: TraceStrip): void {
    const { trans } = this;
    const occurs = (mark: StripBar['mark']) => strip.bars.some(bar => bar.mark === mark);
    const items: [StripBar['tone'], string, boolean][] =
      strip.mode === 'time'
        ? [
            ['failed', trans.__('failed'), strip.bars.some(({ tone }) => tone === 'failed')],
            ['unknown', trans.__('waiting for the person, shortened'), occurs('waiting')]
          ]
        : [
            ['person', trans.__('new input'), strip.bars.length > 0],
            ['quiet', trans.__('from the cache'), strip.bars.length > 0],
            ['changed', trans.__('output'), strip.bars.length > 0],
            ['failed', trans.__('less was cached'), occurs('cache')],
            ['stopped', trans.__('after a compaction'), occurs('compaction')]
          ];
    const lanes =
      strip.mode === 'time' && strip.names.length ? [element('span', '', trans.__('From the top: %1', laneNames(strip.names)))] : [];
    const shown = items
      .filter(([, , there]) => there)
      .map(([tone, text]) => element('span', `nbtools-trace-tone-${tone}`, element('span', '', text)));
    this.legend.replaceChildren(...lanes, ...shown, ...(strip.note ? [element('span', '', strip.note)] : []));
  }

  private moveBy(steps: number, extendsRange: boolean): void {
    const from = extendsRange && this.anchor !== null ? this.edge : (this.line ?? -1);
    const bar = barAfter(this.bars, from, steps);
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
    const start = barOfLine(this.bars, this.anchor) ?? bar;
    this.events.selectRange({ first: Math.min(start.first, bar.first), last: Math.max(start.last, bar.last) });
  }

  private onDown(event: PointerEvent): void {
    if (event.button === 0) {
      this.dragStart = event.clientX;
      this.anchor = null;
      this.node.setPointerCapture(event.pointerId);
    }
  }

  private onMove(event: PointerEvent): void {
    if (this.dragStart !== null && Math.abs(event.clientX - this.dragStart) >= CLICK_TOLERANCE) {
      this.drawRange(linesBetween(this.bars, this.at(this.dragStart), this.at(event.clientX)));
    } else {
      const bar = this.barUnder(event);
      setTitle(this.node, bar ? bar.label : '');
    }
  }

  private onUp(event: PointerEvent): void {
    const { dragStart } = this;
    this.cancelDrag();
    if (dragStart === null) {
      return;
    }
    if (Math.abs(event.clientX - dragStart) >= CLICK_TOLERANCE) {
      this.events.selectRange(linesBetween(this.bars, this.at(dragStart), this.at(event.clientX)));
    } else if (event.detail < 2) {
      const bar = barAtPoint(this.bars, this.at(event.clientX), this.lane(event));
      bar && this.events.goToLine(bar.first);
    }
  }

  private cancelDrag(): void {
    this.dragStart = null;
    this.drawMarks();
  }

  /** Returns the position on the axis. */
  private at(clientX: number): number {
    const { left, width } = this.canvas.getBoundingClientRect();
    return ((clientX - left) / Math.max(width, 1)) * AXIS;
  }

  private lane(event: PointerEvent): number {
    const { top, height } = this.canvas.getBoundingClientRect();
    return Math.floor(((event.clientY - top) / Math.max(height, 1)) * (this.strip?.lanes ?? 1));
  }

  private barUnder(event: PointerEvent): StripBar | undefined {
    const [at, lane] = [this.at(event.clientX), this.lane(event)];
    return this.bars.find(bar => bar.start <= at && at <= bar.end && (bar.lane === lane || bar.mark === 'waiting'));
  }

  private draw(): void {
    const { clientWidth, clientHeight } = this.canvas;
    const context = this.canvas.getContext('2d');
    if (!context || clientWidth === 0 || this.strip === null) {
      return;
    }
    const dpr = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(clientWidth * dpr), Math.round(clientHeight * dpr)];
    this.marks.style.width = this.ticks.style.width = `${clientWidth}px`;
    this.canvas.width = width;
    this.canvas.height = height;
    const colours = new Map([...this.probes].map(([tone, probe]) => [tone, getComputedStyle(probe).color]));
    const lane = (height - MARK_HEIGHT * dpr) / Math.max(this.strip.lanes, 1);
    for (const bar of this.strip.bars) {
      const x = Math.round((bar.start / AXIS) * width);
      const wide = Math.max(Math.round((bar.end / AXIS) * width) - x - (bar.parts.length ? dpr : 0), dpr);
      if (bar.mark === 'waiting') {
        drawWait(context, x, wide, height, colours.get('unknown')!, dpr);
      } else if (bar.parts.length) {
        drawParts(context, bar, x, wide, lane, dpr, colours);
      } else {
        context.fillStyle = colours.get(bar.tone)!;
        context.fillRect(x, Math.round(bar.lane * lane), wide, Math.max(Math.round(lane - 2 * dpr), dpr));
      }
    }
    this.drawMarks();
  }

  private drawMarks(): void {
    const bar = this.line === null ? undefined : barOfLine(this.bars, this.line);
    this.node.setAttribute('aria-valuenow', String(bar ? this.bars.indexOf(bar) + 1 : 0));
    this.node.setAttribute('aria-valuetext', bar?.label || this.trans.__('no step selected'));
    this.cursor.hidden = bar === undefined;
    this.cursor.style.left = `${((bar?.start ?? 0) / AXIS) * 100}%`;
    this.drawRange(this.range);
  }

  private drawRange(range: Range | null): void {
    const inside = range ? this.bars.filter(bar => bar.mark !== 'waiting' && bar.first <= range.last && bar.last >= range.first) : [];
    this.rangeMark.hidden = inside.length === 0;
    if (inside.length) {
      const [start, end] = [Math.min(...inside.map(bar => bar.start)), Math.max(...inside.map(bar => bar.end))];
      this.rangeMark.style.left = `${(start / AXIS) * 100}%`;
      this.rangeMark.style.width = `${((end - start) / AXIS) * 100}%`;
    }
  }
}

type Colours = ReadonlyMap<StripBar['tone'], string>;

function drawParts(
  context: CanvasRenderingContext2D,
  bar: StripBar,
  x: number,
  wide: number,
  base: number,
  dpr: number,
  colours: Colours
): void {
  let y = base;
  bar.parts.forEach((part, i) => {
    const height = (part / 1000) * base;
    context.fillStyle = colours.get(PARTS[i] ?? 'quiet')!;
    context.fillRect(x, Math.round(y - height), wide, Math.round(y) - Math.round(y - height));
    y -= height;
  });
  if (bar.mark) {
    context.fillStyle = colours.get(bar.mark === 'cache' ? 'failed' : 'stopped')!;
    context.fillRect(x, base + 2 * dpr, wide, 3 * dpr);
  }
}

/** Draws a hatched area over all lanes. */
function drawWait(context: CanvasRenderingContext2D, x: number, wide: number, height: number, colour: string, dpr: number): void {
  context.save();
  context.beginPath();
  context.rect(x, 0, wide, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = dpr;
  for (let offset = -height; offset < wide; offset += 6 * dpr) {
    context.beginPath();
    context.moveTo(x + offset, height);
    context.lineTo(x + offset + height, 0);
    context.stroke();
  }
  context.restore();
}

function laneNames(names: readonly string[]): string {
  return [...new Set(names)].join(', ');
}

function setTitle(node: HTMLElement, title: string): void {
  if (node.title !== title) {
    node.title = title;
  }
}
