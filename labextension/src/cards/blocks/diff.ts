import { element, linkButton } from '../../shared/element.js';
import { unify, type UnifiedLine } from '../diff_rows.js';
import { drawSpans } from '../highlighting.js';
import { DEFAULT_SETTINGS } from '../../shared/setting_values.js';
import type { CardContext, ChangeChoice } from '../../shared/tokens.js';
import type { DiffBlock, Hunk, Line, Row } from '../model.js';
import { setNumberWidth, placeLink, type Action, type BlockView } from './block.js';

type Layout = 'split' | 'unified';

const MIN_SPLIT_WIDTH = 700;

/** The layout that the person chose last at a diff; it applies to all diffs until the page is closed or the setting changes. */
let chosenLayout: Layout | null = null;

/** A diff, side by side or unified.  Folded hunks expand on a click; both sides scroll together. */
export class DiffView implements BlockView<DiffBlock> {
  readonly node = element('div', 'nbtools-diff');
  private block: DiffBlock | null = null;
  private layout: Layout = 'unified';
  private readonly expandedHunks = new Set<number>();
  private readonly resizeObserver = new ResizeObserver(() => this.updateLayout());

  constructor(
    private readonly context: CardContext,
    private readonly onLayoutChange: () => void,
    private readonly choice: ChangeChoice | null = null
  ) {
    this.node.setAttribute('role', 'group');
    this.resizeObserver.observe(this.node);
    this.context.settings?.changed.connect(this.followSetting, this);
  }

  update(block: DiffBlock): void {
    this.block = block;
    this.layout = this.preferredLayout();
    this.draw();
  }

  actions(): readonly Action[] {
    if (this.block === null || this.isOneSided()) {
      return [];
    }
    const other: Layout = this.layout === 'split' ? 'unified' : 'split';
    const { trans } = this.context;
    return [{ label: other === 'split' ? trans.__('side by side') : trans.__('unified'), run: () => this.chooseLayout(other) }];
  }

  dispose(): void {
    this.resizeObserver.disconnect();
    this.context.settings?.changed.disconnect(this.followSetting, this);
  }

  private chooseLayout(layout: Layout): void {
    chosenLayout = layout;
    this.updateLayout();
  }

  private followSetting(): void {
    chosenLayout = null;
    this.updateLayout();
  }

  private updateLayout(): void {
    if (this.block !== null && this.layout !== this.preferredLayout()) {
      this.layout = this.preferredLayout();
      this.draw();
      this.onLayoutChange();
    }
  }

  private preferredLayout(): Layout {
    const { diffLayout } = this.context.settings?.values ?? DEFAULT_SETTINGS;
    const byWidth = this.node.clientWidth >= MIN_SPLIT_WIDTH ? 'split' : 'unified';
    return this.isOneSided() ? 'unified' : (chosenLayout ?? (diffLayout === 'auto' ? byWidth : diffLayout));
  }

  /** Whether one of the sides would be empty. */
  private isOneSided(): boolean {
    const rows = this.block?.hunks.flatMap(hunk => hunk.rows) ?? [];
    return this.block?.created === true || rows.every(row => !row.old) || rows.every(row => !row.new);
  }

  private draw(): void {
    const block = this.block!;
    this.node.setAttribute('aria-label', this.context.trans.__('Changes to %1', block.path));
    this.node.dataset['layout'] = this.layout;
    setNumberWidth(this.node, lastNumber(block));
    const sides = [...this.node.querySelectorAll('.nbtools-pane')].map(side => side.scrollLeft);
    const panes = this.layout === 'split' ? [this.pane('old'), this.pane('new')] : [this.pane('both')];
    this.node.replaceChildren(...this.title(block), ...panes);
    this.node.style.setProperty('--nbtools-rows', String(panes[0]!.firstElementChild!.childElementCount));
    panes.forEach((pane, i) => {
      pane.scrollLeft = sides[i] ?? 0;
      pane.addEventListener('scroll', () => panes.forEach(other => (other.scrollLeft = pane.scrollLeft)), { passive: true });
    });
  }

  /** The path as a title, if the card contains several diffs, with the control that takes or leaves the file. */
  private title(block: DiffBlock): HTMLElement[] {
    if (!block.titled) {
      return [];
    }
    const { choice, context } = this;
    const action = this.fileAction(block);
    const title = element('div', 'nbtools-title', placeLink(context, block.path, block.path, null));
    action && title.append(element('span', 'nbtools-quiet', ` · ${action}`));
    choice?.hasBox && title.prepend(this.fileBox(block, choice));
    choice?.hasBox && !choice.taken && title.append(element('span', 'nbtools-quiet', ` – ${context.trans.__('left out')}`));
    if (choice?.modify) {
      const modify = linkButton(context.trans.__('Modify…'), choice.modify, '');
      modify.setAttribute('aria-label', context.trans.__('Modify %1…', block.path));
      modify.classList.add('nbtools-modify-file');
      title.append(modify);
    }
    return [title];
  }

  /** What becomes of the file besides its content. */
  private fileAction({ former, created, deleted }: DiffBlock): string {
    const { trans } = this.context;
    if (former) {
      return trans.__('moved from %1', former);
    }
    return created ? trans.__('new file') : deleted ? trans.__('deleted') : '';
  }

  private fileBox(block: DiffBlock, choice: ChangeChoice): HTMLElement {
    const box = element('input', 'nbtools-file-box');
    box.type = 'checkbox';
    box.checked = choice.taken;
    box.indeterminate = choice.taken && choice.hunks.includes(false);
    box.setAttribute('aria-label', this.context.trans.__('Apply the change of %1', block.path));
    box.addEventListener('change', () => {
      choice.take(box.checked);
      this.draw();
      this.node.querySelector<HTMLElement>('.nbtools-file-box')?.focus({ preventScroll: true });
    });
    return box;
  }

  private pane(side: 'old' | 'new' | 'both'): HTMLElement {
    const lines = element('div', 'nbtools-rows');
    let change = 0;
    this.block!.hunks.forEach((hunk, i) => {
      lines.append(...(hunk.folded ? this.drawHunk(hunk, i, side) : this.drawChange(hunk, i, side, change++)));
    });
    const pane = element('div', 'nbtools-pane', lines);
    pane.tabIndex = 0;
    pane.dataset['side'] = side;
    return pane;
  }

  private drawHunk(hunk: Hunk, index: number, side: 'old' | 'new' | 'both'): HTMLElement[] {
    const folded = hunk.folded && !this.expandedHunks.has(index);
    const lines = folded ? [] : drawRows(hunk.rows, side);
    const hiddenCount = hunk.hidden + (folded ? hunk.rows.length : 0);
    return hiddenCount
      ? [...lines, this.gap(hiddenCount, hunk.folded, folded && hunk.rows.length > 0 ? index : null, side === 'new')]
      : lines;
  }

  /** A hunk with changes, below the control that takes it or leaves it, where the diff has a choice. */
  private drawChange(hunk: Hunk, index: number, side: 'old' | 'new' | 'both', change: number): HTMLElement[] {
    const lines = this.drawHunk(hunk, index, side);
    const { choice } = this;
    const { trans } = this.context;
    const taken = choice === null || (choice.taken && (choice.hunks[change] ?? true));
    lines.forEach(line => line.classList.toggle('nbtools-left-out', !taken));
    if (!choice?.hunks.length) {
      return lines;
    }
    const head = element('div', 'nbtools-hunk');
    if (side !== 'new') {
      const box = element('input');
      box.type = 'checkbox';
      box.checked = taken;
      box.addEventListener('change', () => {
        choice.takeHunk(change, box.checked);
        this.draw();
        this.node.querySelectorAll<HTMLElement>('.nbtools-hunk input')[change]?.focus({ preventScroll: true });
      });
      const label = trans.__('Change %1 of %2', change + 1, choice.hunks.length);
      head.append(element('label', '', box, taken ? label : trans.__('%1 – left out', label)));
    }
    return [head, ...lines];
  }

  /** The line that stands for hidden rows.  On the right side it has no text (`blank`), and keeps the rows of both sides aligned. */
  private gap(count: number, unchanged: boolean, index: number | null, blank: boolean): HTMLElement {
    const gap = element('div', 'nbtools-gap');
    const { trans } = this.context;
    const label = unchanged
      ? trans._n('⋯ %1 unchanged line', '⋯ %2 unchanged lines', count, count.toLocaleString())
      : trans._n('⋯ %1 more line', '⋯ %2 more lines', count, count.toLocaleString());
    if (!blank) {
      gap.append(index === null ? label : linkButton(label, () => this.expand(index), trans.__('Show these lines')));
    } else if (index !== null) {
      gap.addEventListener('click', () => this.expand(index));
    }
    return gap;
  }

  private expand(index: number): void {
    this.expandedHunks.add(index);
    this.draw();
    this.node.querySelector<HTMLElement>('.nbtools-pane')?.focus({ preventScroll: true });
  }
}

function lastNumber(block: DiffBlock): number {
  return Math.max(0, ...block.hunks.flatMap(({ rows }) => [rows.at(-1)?.old?.number ?? 0, rows.at(-1)?.new?.number ?? 0]));
}

function drawRows(rows: readonly Row[], side: 'old' | 'new' | 'both'): HTMLElement[] {
  if (side === 'both') {
    return unify(rows).map(drawUnified);
  }
  return rows.map(row => drawSide(row[side], row.changed || !row.old || !row.new, side));
}

function drawSide(line: Line | null, changed: boolean, side: 'old' | 'new'): HTMLElement {
  if (line === null) {
    return element('div', 'nbtools-line nbtools-filler');
  }
  const sign = !changed ? ' ' : side === 'old' ? '−' : '+';
  return drawLine(sign, [line.number], line.spans);
}

function drawUnified(line: UnifiedLine): HTMLElement {
  return drawLine(line.sign, [line.old, line.new], line.spans);
}

function drawLine(sign: ' ' | '+' | '−', numbers: readonly (number | null)[], spans: Line['spans']): HTMLElement {
  const kind = { ' ': '', '+': ' nbtools-added', '−': ' nbtools-removed' }[sign];
  const gutter = element(
    'span',
    'nbtools-gutter',
    ...numbers.map(number => element('span', 'nbtools-number', number === null ? '' : String(number))),
    element('span', 'nbtools-sign', sign)
  );
  return element('div', `nbtools-line${kind}`, gutter, element('code', '', ...drawSpans(spans)));
}
