import { CardView } from '../cards/card.js';
import { ignoreMovedClick } from '../shared/double_click.js';
import { element, linkButton, setText } from '../shared/element.js';
import type { ExplorerContext } from './explorer_context.js';
import { HitBar } from './hit_bar.js';
import type { LogRequests } from './requests.js';
import { stepMarkdown } from './step_markdown.js';
import { RawView } from './raw_record.js';
import type { TraceContext, TraceLink, TraceOpened } from './model.js';

/** Milliseconds for which a button shows the result of copying. */
const MESSAGE_DURATION = 1500;
/** Maximum number of characters that a label quotes. */
const MAX_SPAN = 4000;

export interface DetailPaneEvents {
  /** Goes to a line of the log. */
  goToLine(line: number): void;
  /** Filters the list by a file. */
  filterByPath(path: string): void;
}

/** The details of the selected step: its card, its context and its raw record. */
export class DetailPaneView {
  readonly node = element('div', 'nbtools-trace-panel');
  private readonly hitBar: HitBar;
  /** Marks hits in text that appears later: Markdown, and lines that the person unfolds. */
  private readonly contentObserver = new MutationObserver(() => this.drawHits(() => this.hitBar.draw()));
  private card: CardView | null = null;
  private replayButton: HTMLButtonElement | null = null;
  private copyToolButton: HTMLButtonElement | null = null;

  constructor(
    private readonly context: ExplorerContext,
    private readonly requests: LogRequests,
    private readonly events: DetailPaneEvents
  ) {
    this.hitBar = new HitBar(this.node, context.trans);
    this.contentObserver.observe(this.node, { childList: true, subtree: true });
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', context.trans.__('Selected step'));
  }

  show(opened: TraceOpened): void {
    this.clear();
    this.card = new CardView(this.context);
    this.card.update(opened.card);
    this.card.node.append(this.foot(opened));
    this.node.replaceChildren(this.hitBar.node, this.card.node, ...this.relatedLinks(opened.around));
    if (opened.raw) {
      this.node.append(element('h3', '', this.context.trans.__('Raw record')), new RawView(opened, this.requests, this.context.trans).node);
    }
    this.node.scrollTop = 0;
    this.drawHits(() => this.hitBar.start());
  }

  /** Sets the texts to highlight, the hits of a search: in the next step that is shown, or with `now` also in the one that is shown already. */
  mark(hits: readonly string[], now = false): void {
    if (this.hitBar.setHits(hits) && now) {
      this.drawHits(() => this.hitBar.start());
    }
  }

  /** Goes to the next hit of the search in this step, or with −1 to the previous one.  Returns false if there are none. */
  goToHit(step: number): boolean {
    this.drawHits(() => this.hitBar.move(step));
    return this.hitBar.hasHits;
  }

  /** The text that the person has selected in this step; empty if it is not. */
  get selectedText(): string {
    const root = this.node.getRootNode() as Document & { getSelection?: () => Selection | null };
    const selection = (root.getSelection ?? document.getSelection.bind(document)).call(root);
    const text = selection && this.node.contains(selection.anchorNode) ? selection.toString().trim() : '';
    return text.slice(0, MAX_SPAN);
  }

  /** Shows a message instead of a step, with an optional hint below it. */
  showMessage(text: string, hint = ''): void {
    this.clear();
    this.node.replaceChildren(element('p', 'nbtools-trace-quiet', text), ...(hint ? [element('div', 'nbtools-trace-hint', hint)] : []));
  }

  /** Marks the pane as busy while it still shows the previously selected step. */
  setBusy(busy: boolean): void {
    this.node.setAttribute('aria-busy', String(busy));
  }

  replay(): void {
    this.replayButton?.click();
  }

  copyTool(): void {
    this.copyToolButton?.click();
  }

  dispose(): void {
    this.contentObserver.disconnect();
    this.clear();
  }

  /** Marks hits.  Marks are no new text. */
  private drawHits(draw: () => void): void {
    draw();
    this.contentObserver.takeRecords();
  }

  private clear(): void {
    this.hitBar.clear();
    this.card?.dispose();
    this.card = this.replayButton = this.copyToolButton = null;
    this.setBusy(false);
  }

  private foot(opened: TraceOpened): HTMLElement {
    const { trans } = this.context;
    const foot = element('div', 'nbtools-foot nbtools-trace-foot');
    const { addCell, copy } = this.context;
    if (addCell && (opened.replay || opened.obstacle)) {
      this.replayButton = this.createReplayButton(opened, addCell);
      foot.append(this.replayButton);
    }
    if (copy && opened.tool) {
      this.copyToolButton = this.createCopyButton(copy, trans.__('Copy as %tool'), opened.tool, 'c');
      foot.append(this.copyToolButton);
    }
    const { linkTo } = this.context;
    let { link } = opened;
    if (copy && (link || linkTo)) {
      const button = this.createCopyButton(copy, trans.__('Copy link'), () => link);
      void Promise.resolve(linkTo?.(opened) ?? null).then(address => (button.title = link = address ?? link));
      foot.append(button);
    }
    if (copy) {
      const title = trans.__('Copies the step as text for an issue or a chat');
      foot.append(this.createCopyButton(copy, trans.__('Copy as Markdown'), () => stepMarkdown({ ...opened, link }), '', title));
    }
    foot.append(element('span', 'nbtools-space'), element('span', 'nbtools-trace-when', opened.foot));
    if (addCell && !opened.replay && opened.obstacle) {
      foot.append(element('div', 'nbtools-trace-obstacle', opened.obstacle));
    }
    return foot;
  }

  private createReplayButton({ replay, obstacle }: TraceOpened, addCell: NonNullable<ExplorerContext['addCell']>): HTMLButtonElement {
    const { trans } = this.context;
    const button = element('button', 'nbtools-button nbtools-primary', trans.__('Run again in a copy'), keyLabel('r'));
    button.type = 'button';
    button.title = obstacle || trans.__('Adds a cell that runs this call in a temporary copy of the folder');
    button.disabled = !replay;
    button.addEventListener('click', event => {
      ignoreMovedClick(event);
      addCell(replay, true);
    });
    return button;
  }

  private createCopyButton(
    copy: NonNullable<ExplorerContext['copy']>,
    label: string,
    source: string | (() => string),
    key = '',
    title = ''
  ): HTMLButtonElement {
    const { trans } = this.context;
    const labelNode = element('span', '', label);
    labelNode.setAttribute('aria-live', 'polite');
    const button = element('button', 'nbtools-button', labelNode, ...(key ? [keyLabel(key)] : []));
    button.type = 'button';
    const text = typeof source === 'string' ? () => source : source;
    button.title = title || text();
    button.addEventListener('click', () => {
      void copy(text()).then(
        () => flash(labelNode, trans.__('Copied'), label),
        () => flash(labelNode, trans.__('Could not copy'), label)
      );
    });
    return button;
  }

  private relatedLinks(groups: readonly TraceContext[]): HTMLElement[] {
    if (!groups.length) {
      return [];
    }
    const list = element('dl', 'nbtools-trace-around');
    for (const { label, parts } of groups) {
      list.append(element('dt', '', label), element('dd', '', ...parts.map(linkOrText => this.part(linkOrText))));
    }
    return [element('h3', '', this.context.trans.__('Context of this step')), list];
  }

  private part({ text, line, path }: TraceLink): Node | string {
    if (line !== null) {
      return linkButton(text, () => this.events.goToLine(line));
    }
    return path ? linkButton(text, () => this.events.filterByPath(path)) : text;
  }
}

function keyLabel(key: string): HTMLElement {
  const sign = element('span', 'nbtools-trace-key', key);
  sign.setAttribute('aria-hidden', 'true');
  return sign;
}

function flash(node: HTMLElement, message: string, label: string): void {
  setText(node, message);
  window.setTimeout(() => setText(node, label), MESSAGE_DURATION);
}
