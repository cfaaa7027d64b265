import { AudioView } from './blocks/audio.js';
import type { Action, Block, BlockView } from './blocks/block.js';
import { CodeView } from './blocks/code.js';
import { CommandView } from './blocks/command.js';
import { DiffView } from './blocks/diff.js';
import { ImageView } from './blocks/image.js';
import { ListingView } from './blocks/listing.js';
import { MatchesView } from './blocks/matches.js';
import { PagesView } from './blocks/pages.js';
import { OutputView } from './blocks/output.js';
import { QuestionView } from './blocks/question.js';
import { TextView } from './blocks/text.js';
import { TodoView } from './blocks/todo.js';
import { element } from '../shared/element.js';
import { FootView, type FootButton } from './foot.js';
import { HeadView } from './head.js';
import { phrase } from './phrases.js';
import { shortName } from '../shared/path.js';
import { chooseWrapping, hasLongLines, onWrappingChange, wraps } from './wrapping.js';
import type { CardContext, ChangeChoice } from '../shared/tokens.js';
import type { Card, CardAction, CardPlace } from './model.js';

const MAX_PLACES = 4;
/** Milliseconds after which an action that had no effect can be requested again. */
const ACTION_TIMEOUT = 3000;
const FINISHED: readonly Card['state'][] = ['success', 'error', 'cancelled'];
const BLOCKS_WITH_LINKS: readonly Block['type'][] = ['matches', 'listing'];

interface DrawnBlock {
  readonly type: Block['type'];
  readonly view: BlockView<never>;
  key: string;
}

/** The view of a card.  Updates change only what differs, so that expanded blocks, scroll position, selection and focus are preserved. */
export class CardView {
  readonly node = element('article', 'nbtools-card');
  private readonly head = new HeadView();
  private readonly body = element('div', 'nbtools-body');
  private readonly foot = new FootView();
  private drawn: DrawnBlock[] = [];
  private card: Card | null = null;
  private expanded = false;
  private readonly requestedActions = new Set<string>();
  private readonly stopFollowing: () => void;
  private readonly resizeObserver = new ResizeObserver(() => this.findLongLines());
  /** The kinds of blocks with long lines. */
  private longKinds: readonly Block['type'][] = [];

  constructor(private readonly context: CardContext) {
    this.stopFollowing = onWrappingChange(context, () => this.drawWrapping());
    this.resizeObserver.observe(this.body);
    this.node.append(this.head.node, element('div', 'nbtools-progress'), this.body, this.foot.node);
  }

  update(card: Card): void {
    this.card = card;
    this.requestedActions.clear();
    this.node.dataset['state'] = card.state === 'success' && card.failed ? 'error' : card.state;
    this.node.setAttribute('aria-label', `${card.tool} ${card.subject}`);
    this.head.update({ ...card, status: phrase(this.context.trans, card.status) });
    this.body.hidden = !this.isOpen(card);
    const isOneLine = card.folded && !this.expanded && card.state === 'success' && card.record === '';
    this.node.classList.toggle('nbtools-one-line', isOneLine);
    if (this.isOpen(card)) {
      this.drawBlocks(card.blocks);
    }
    this.drawFoot();
  }

  dispose(): void {
    this.stopFollowing();
    this.resizeObserver.disconnect();
    this.drawn.forEach(({ view }) => view.dispose?.());
  }

  private isOpen(card: Card): boolean {
    return card.blocks.length > 0 && (!card.folded || this.expanded);
  }

  private drawBlocks(blocks: readonly Block[]): void {
    this.drawn.splice(blocks.length).forEach(discard);
    blocks.forEach((block, i) => {
      if (this.drawn[i]?.type !== block.type) {
        this.replace(i, block.type);
      }
      const slot = this.drawn[i]!;
      const key = JSON.stringify(block);
      if (slot.key !== key) {
        slot.key = key;
        slot.view.update(block as never);
      }
    });
    this.drawWrapping();
  }

  private findLongLines(): void {
    const blocks = this.drawn.filter(({ type, view }) => hasLongLines(view.node, wraps(type, this.context)));
    const kinds = [...new Set(blocks.map(({ type }) => type))];
    if (kinds.join() !== this.longKinds.join()) {
      this.longKinds = kinds;
      this.drawFoot();
    }
  }

  private drawWrapping(): void {
    this.drawn.forEach(({ type, view }) => view.node.classList.toggle('nbtools-wrapped', wraps(type, this.context)));
    this.longKinds.length && this.drawFoot();
  }

  private replace(index: number, type: Block['type']): void {
    const old = this.drawn[index];
    const diffs = this.drawn.slice(0, index).filter(drawn => drawn.type === 'diff').length;
    const view = this.create(type, this.context.choices?.[diffs] ?? null) as BlockView<never>;
    old ? old.view.node.replaceWith(view.node) : this.body.append(view.node);
    old?.view.dispose?.();
    this.drawn[index] = { type, view, key: '' };
  }

  private create(type: Block['type'], choice: ChangeChoice | null): BlockView<never> {
    const make: { [T in Block['type']]: () => BlockView<Extract<Block, { type: T }>> } = {
      diff: () => new DiffView(this.context, () => this.drawFoot(), choice),
      command: () => new CommandView(),
      output: () => new OutputView(this.context),
      matches: () => new MatchesView(this.context),
      listing: () => new ListingView(this.context),
      code: () => new CodeView(this.context),
      image: () => new ImageView(),
      pages: () => new PagesView(this.context),
      audio: () => new AudioView(),
      todo: () => new TodoView(this.context),
      question: () => new QuestionView(),
      text: () => new TextView(this.context)
    };
    return make[type]();
  }

  private drawFoot(): void {
    const card = this.card!;
    const cancel: FootButton | null = card.cancellable
      ? { key: 'cancel', label: this.context.trans.__('Cancel'), title: '', run: () => this.context.cancel(this.node, card.id) }
      : null;
    const links = [...this.placeLinks(card), ...this.blockLinks(card), ...this.collapseLink(card), ...this.actionLinks(card)];
    // The note of a finished call is only the tooltip of its status: it does not get a foot of its own.
    const note = FINISHED.includes(card.state) && !card.record && !links.length ? '' : card.note;
    this.foot.update({ cancel, record: card.record, note, links: [...this.wrapLink(), ...links] });
  }

  private wrapLink(): FootButton[] {
    const pressed = this.longKinds.every(type => wraps(type, this.context));
    const run = () => chooseWrapping(this.longKinds, !pressed);
    return this.longKinds.length ? [{ key: 'wrap', label: this.context.trans.__('Wrap lines'), title: '', run, pressed }] : [];
  }

  private placeLinks(card: Card): FootButton[] {
    if (card.blocks.some(block => BLOCKS_WITH_LINKS.includes(block.type) || (block.type === 'diff' && block.titled && this.isOpen(card)))) {
      return [];
    }
    const onlyLabel = card.places.length === 1 ? this.context.trans.__('open file') : null;
    return card.places.slice(0, MAX_PLACES).map(place => this.placeLink(place, onlyLabel ?? shortName(place.path, place.line)));
  }

  private placeLink({ path, line }: CardPlace, label: string): FootButton {
    const serverPath = this.context.locate(path);
    const { trans } = this.context;
    return {
      key: `place ${path}:${line}`,
      label,
      title:
        serverPath === null
          ? trans.__('%1 cannot be opened: it is outside the folder that Jupyter serves', path)
          : trans.__('Open %1', path),
      run: serverPath === null ? null : () => this.context.open(serverPath, line)
    };
  }

  private blockLinks(card: Card): FootButton[] {
    const actions: Action[] = this.isOpen(card) ? this.drawn.flatMap(({ view }) => [...(view.actions?.() ?? [])]) : [];
    const labels = [...new Set(actions.map(({ label }) => label))];
    return labels.map((label, i) => ({
      key: `block ${i}`,
      label,
      title: '',
      run: () => actions.forEach(action => action.label === label && action.run())
    }));
  }

  private collapseLink(card: Card): FootButton[] {
    if (!card.folded || card.blocks.length === 0) {
      return [];
    }
    const label = this.expanded
      ? this.context.trans.__('Collapse')
      : phrase(this.context.trans, card.unfold) || this.context.trans.__('show');
    return [{ key: 'fold', label, title: '', run: () => this.toggle(), expanded: this.expanded }];
  }

  /** Links for the card's actions.  A link is disabled after a click, until the card is updated or `ACTION_TIMEOUT` has passed. */
  private actionLinks(card: Card): FootButton[] {
    return card.deeds.map(action => {
      const key = `${action.verb} ${action.id}`;
      const run = this.requestedActions.has(key) ? null : () => this.runAction(key, action);
      return { key, label: phrase(this.context.trans, action.label), title: action.magic, run };
    });
  }

  private runAction(key: string, action: CardAction): void {
    this.requestedActions.add(key);
    this.drawFoot();
    this.context.runAction(this.node, action);
    window.setTimeout(() => this.requestedActions.delete(key) && this.drawFoot(), ACTION_TIMEOUT);
  }

  private toggle(): void {
    this.expanded = !this.expanded;
    this.update(this.card!);
  }
}

function discard({ view }: DrawnBlock): void {
  view.node.remove();
  view.dispose?.();
}
