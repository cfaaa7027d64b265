import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import type { StripBar, TraceStrip } from './model.js';
import { MARK_HEIGHT, StripView, UNLISTED, type Position, type StripEvents, type Tone } from './strip.js';
import type { Range } from './timeline_bars.js';
import { AXIS, barAfter, barAtPoint, barOfLine, linesBetween, stepBars } from './usage_strip_bars.js';

const PARTS = ['person', 'cached', 'changed'] as const;

/** The overview over time, with lanes, or over the tokens of the requests. */
export class UsageStripView extends StripView {
  private readonly ticks = element('div', 'nbtools-trace-ticks');
  private strip: TraceStrip | null = null;

  constructor(trans: TranslationBundle, events: StripEvents) {
    super(trans, events);
    this.node.classList.add('nbtools-trace-usage-strip');
    this.legend.classList.add('nbtools-trace-usage-legend');
    this.node.setAttribute('aria-valuemin', '0');
    this.ticks.setAttribute('aria-hidden', 'true');
    this.node.append(this.ticks);
    this.node.addEventListener('pointermove', event => setTitle(this.node, this.barUnder(event)?.label ?? ''));
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
    this.explain(strip);
    this.draw();
  }

  private get bars(): readonly StripBar[] {
    return this.strip?.bars ?? [];
  }

  private tick(at: number, text: string): HTMLElement {
    const node = element('span', '', text);
    node.style.left = `${(at / AXIS) * 100}%`;
    return node;
  }

  private explain({ mode, bars, names, note }: TraceStrip): void {
    const { trans } = this;
    const occurs = (mark: StripBar['mark']) => bars.some(bar => bar.mark === mark);
    const lanes = mode === 'time' && names.length ? [element('span', '', trans.__('From the top: %1', laneNames(names)))] : [];
    this.drawLegend(
      lanes,
      mode === 'time'
        ? [
            ['failed', trans.__('failed'), bars.some(({ failed }) => failed > 0)],
            ['unknown', trans.__('waiting for the person, shortened'), occurs('waiting')]
          ]
        : [
            ['person', trans.__('new input'), bars.length > 0],
            ['cached', trans.__('from the cache'), bars.length > 0],
            ['changed', trans.__('output'), bars.length > 0],
            ['failed', trans.__('less was cached'), occurs('cache')],
            ['stopped', trans.__('after a compaction'), occurs('compaction')]
          ],
      note ? [element('span', '', note)] : []
    );
  }

  protected barOf(line: number): StripBar | undefined {
    return barOfLine(this.bars, line);
  }

  protected barAfter(line: number, steps: number): StripBar | undefined {
    return barAfter(this.bars, line, steps);
  }

  protected linesBetween(x1: number, x2: number): Range | null {
    return linesBetween(this.bars, this.at(x1), this.at(x2));
  }

  protected lineAt(x: number, event: PointerEvent): number | undefined {
    return barAtPoint(this.bars, this.at(x), this.lane(event))?.first;
  }

  protected extent(range: Range): readonly [number, number] | null {
    const inside = stepBars(this.bars).filter(bar => bar.first <= range.last && bar.last >= range.first);
    return inside.length ? [Math.min(...inside.map(({ start }) => start)) / AXIS, Math.max(...inside.map(({ end }) => end)) / AXIS] : null;
  }

  protected position(): Position {
    const bar = this.line === null ? undefined : this.barOf(this.line);
    return bar
      ? { value: this.bars.indexOf(bar) + 1, text: bar.label, at: bar.start / AXIS }
      : { value: 0, text: this.trans.__('no step selected'), at: null };
  }

  /** Returns the position on the axis. */
  private at(x: number): number {
    return (x / Math.max(this.width, 1)) * AXIS;
  }

  private lane(event: PointerEvent): number {
    const { top, height } = this.canvas.getBoundingClientRect();
    return Math.floor(((event.clientY - top) / Math.max(height, 1)) * (this.strip?.lanes ?? 1));
  }

  private barUnder(event: PointerEvent): StripBar | undefined {
    const [at, lane] = [this.at(this.x(event)), this.lane(event)];
    return this.bars.find(bar => bar.start <= at && at <= bar.end && (bar.lane === lane || bar.mark === 'waiting'));
  }

  protected paint(context: CanvasRenderingContext2D, dpr: number, colours: Colours): void {
    const { width, height } = this.canvas;
    this.ticks.style.width = `${this.width}px`;
    const lane = (height - MARK_HEIGHT * dpr) / Math.max(this.strip?.lanes ?? 1, 1);
    for (const bar of this.bars) {
      const x = Math.round((bar.start / AXIS) * width);
      const wide = Math.max(Math.round((bar.end / AXIS) * width) - x - (bar.parts.length ? dpr : 0), dpr);
      context.globalAlpha = this.listed && bar.mark !== 'waiting' && this.listed.count(bar) === 0 ? UNLISTED : 1;
      if (bar.mark === 'waiting') {
        drawWait(context, x, wide, height, colours.get('unknown')!, dpr);
      } else if (bar.parts.length) {
        drawParts(context, bar, x, wide, lane, dpr, colours);
      } else {
        const [top, tall] = [Math.round(bar.lane * lane), Math.max(Math.round(lane - 2 * dpr), dpr)];
        context.fillStyle = colours.get(bar.tone)!;
        context.fillRect(x, top, wide, tall);
        if (bar.failed > 0) {
          const part = Math.min(Math.max(Math.round((bar.failed / 1000) * tall), Math.round(2 * dpr)), tall);
          context.fillStyle = colours.get('failed')!;
          context.fillRect(x, top + tall - part, wide, part);
        }
      }
    }
    context.globalAlpha = 1;
  }
}

type Colours = ReadonlyMap<Tone, string>;

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
    const height = part > 0 ? Math.max((part / 1000) * base, dpr) : 0;
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
