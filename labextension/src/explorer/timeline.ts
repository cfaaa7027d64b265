import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton } from '../shared/element.js';
import { MARK_HEIGHT, StripView, UNLISTED, type Position, type StripEvents, type Tone } from './strip.js';
import { barAtOffset, barAt, lineAt, lineCount, rangeBetween, barRects, barsWidth, type Range, type Rect } from './timeline_bars.js';
import type { TraceBar } from './model.js';

/** The overview by steps. */
export class TimelineView extends StripView {
  private bars: readonly TraceBar[] = [];

  constructor(trans: TranslationBundle, events: StripEvents) {
    super(trans, events);
    this.node.setAttribute('aria-valuemin', '1');
    this.node.setAttribute('aria-label', trans.__('Timeline: arrow keys select a step, Shift and arrow keys select a range'));
    this.node.title = trans.__('Click to go to a step, drag to list only a range, double-click to list all steps');
  }

  update(bars: readonly TraceBar[]): void {
    const { trans } = this;
    this.bars = bars;
    this.node.hidden = this.legend.hidden = bars.length < 2;
    this.node.setAttribute('aria-valuemax', String(this.total));
    const has = (tone: Tone) => bars.some(bar => bar.tone === tone);
    const failures = bars.some(({ failed }) => failed > 0);
    this.drawLegend(
      [...(failures ? [this.failureLinks()] : []), element('span', '', trans.__('Height: amount of text'))],
      [
        ['person', trans.__('person'), has('person')],
        ['changed', trans.__('changed files'), has('changed')],
        ['failed', trans.__('failed'), failures],
        ['stopped', trans.__('stopped'), has('stopped')],
        ['done', trans.__('other steps'), true]
      ],
      []
    );
    this.draw();
  }

  private get total(): number {
    return Math.max(lineCount(this.bars), 1);
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

  protected barOf(line: number): Range | undefined {
    return barAt(this.bars, line);
  }

  protected barAfter(line: number, steps: number): Range | undefined {
    return barAtOffset(this.bars, line, steps);
  }

  protected linesBetween(x1: number, x2: number): Range {
    return rangeBetween(this.bars, x1, x2, this.width);
  }

  protected lineAt(x: number): number {
    return lineAt(x, this.width, lineCount(this.bars));
  }

  protected extent({ first, last }: Range): readonly [number, number] {
    return [first / this.total, (last + 1) / this.total];
  }

  protected position(): Position {
    const { line, total } = this;
    const value = (line ?? 0) + 1;
    const text = this.trans.__('line %1 of %2', value, lineCount(this.bars));
    return { value, text, at: line === null ? null : (line + 0.5) / total };
  }

  protected override barsWidth(available: number): number {
    return barsWidth(this.bars, available);
  }

  protected paint(context: CanvasRenderingContext2D, dpr: number, colours: ReadonlyMap<Tone, string>): void {
    const base = this.canvas.height - Math.round(MARK_HEIGHT * dpr);
    const rects = barRects(this.bars, Math.round(this.width * dpr), base, dpr);
    for (const [i, rect] of rects.entries()) {
      if (this.listed) {
        this.paintListed(context, this.bars[i]!, rect, base, dpr, colours);
        continue;
      }
      const { x, width, height, tone, failed } = rect;
      context.fillStyle = colours.get(tone)!;
      context.fillRect(x, base - height, width, height);
      if (failed > 0) {
        const part = tone === 'failed' ? 0 : Math.max(Math.round(failed * height), Math.round(2 * dpr));
        context.fillStyle = colours.get('failed')!;
        context.fillRect(x, base - part, width, part);
        context.fillRect(x, base + Math.round(2 * dpr), width, Math.round(2 * dpr));
      }
    }
  }

  /** Paints a bar of which the filter lists some lines, or none: their share is opaque. */
  private paintListed(
    context: CanvasRenderingContext2D,
    bar: TraceBar,
    { x, width, height }: Rect,
    base: number,
    dpr: number,
    colours: ReadonlyMap<Tone, string>
  ): void {
    const share = this.listed!.count(bar) / (bar.last + 1 - bar.first);
    context.globalAlpha = UNLISTED;
    context.fillStyle = colours.get('done')!;
    context.fillRect(x, base - height, width, height);
    context.globalAlpha = 1;
    if (share > 0) {
      const tone = this.listed!.tone(bar);
      const part = Math.max(Math.round(share * height), Math.round(2 * dpr));
      context.fillStyle = colours.get(tone)!;
      context.fillRect(x, base - part, width, part);
      tone === 'failed' && context.fillRect(x, base + Math.round(2 * dpr), width, Math.round(2 * dpr));
    }
  }
}
