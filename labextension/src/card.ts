import { AudioView } from './blocks/audio.js';
import type { Action, Block, BlockView } from './blocks/block.js';
import { CodeView } from './blocks/code.js';
import { CommandView } from './blocks/command.js';
import { DiffView } from './blocks/diff.js';
import { ImageView } from './blocks/image.js';
import { ListingView } from './blocks/listing.js';
import { MatchesView } from './blocks/matches.js';
import { OutputView } from './blocks/output.js';
import { QuestionView } from './blocks/question.js';
import { TextView } from './blocks/text.js';
import { TodoView } from './blocks/todo.js';
import { element } from './element.js';
import { FootView, type FootButton } from './foot.js';
import { HeadView } from './head.js';
import { shortName } from './path.js';
import type { Surroundings } from './tokens.js';
import type { Card, Deed, Place } from './wire.js';

const SHOWN_PLACES = 4;
/** Milliseconds after which what was asked for in vain can be asked for again. */
const PATIENCE = 3000;
const FINISHED: readonly Card['state'][] = ['success', 'error', 'cancelled'];
const LINKS_ITSELF: readonly Block['type'][] = ['matches', 'listing'];

interface Drawn {
  readonly type: Block['type'];
  readonly view: BlockView<never>;
  key: string;
}

/** A call on the page.  An update touches only what changed: what is open, scrolled, selected and focused stays so. */
export class CardView {
  readonly node = element('section', 'nbtools-card');
  private readonly head = new HeadView();
  private readonly body = element('div', 'nbtools-body');
  private readonly foot = new FootView();
  private drawn: Drawn[] = [];
  private card: Card | null = null;
  private opened = false;
  private readonly asked = new Set<string>();

  constructor(private readonly around: Surroundings) {
    this.node.append(this.head.node, element('div', 'nbtools-progress'), this.body, this.foot.node);
  }

  update(card: Card): void {
    this.card = card;
    this.asked.clear();
    this.node.dataset['state'] = card.state === 'success' && card.failed ? 'error' : card.state;
    this.node.setAttribute('aria-label', `${card.tool} ${card.subject}`);
    this.head.update(card);
    this.body.hidden = !this.isOpen(card);
    if (this.isOpen(card)) {
      this.drawBlocks(card.blocks);
    }
    this.drawFoot();
  }

  dispose(): void {
    this.drawn.forEach(({ view }) => view.dispose?.());
  }

  private isOpen(card: Card): boolean {
    return card.blocks.length > 0 && (!card.folded || this.opened);
  }

  private drawBlocks(blocks: readonly Block[]): void {
    this.drawn.splice(blocks.length).forEach(discard);
    blocks.forEach((block, i) => {
      if (this.drawn[i]?.type !== block.type) {
        this.replace(i, block.type);
      }
      const place = this.drawn[i]!;
      const key = JSON.stringify(block);
      if (place.key !== key) {
        place.key = key;
        place.view.update(block as never);
      }
    });
  }

  private replace(index: number, type: Block['type']): void {
    const old = this.drawn[index];
    const view = this.create(type) as BlockView<never>;
    old ? old.view.node.replaceWith(view.node) : this.body.append(view.node);
    old?.view.dispose?.();
    this.drawn[index] = { type, view, key: '' };
  }

  private create(type: Block['type']): BlockView<never> {
    const make: { [T in Block['type']]: () => BlockView<Extract<Block, { type: T }>> } = {
      diff: () => new DiffView(this.around, () => this.drawFoot()),
      command: () => new CommandView(),
      output: () => new OutputView(this.around),
      matches: () => new MatchesView(this.around),
      listing: () => new ListingView(this.around),
      code: () => new CodeView(this.around),
      image: () => new ImageView(),
      audio: () => new AudioView(),
      todo: () => new TodoView(this.around),
      question: () => new QuestionView(),
      text: () => new TextView(this.around)
    };
    return make[type]();
  }

  private drawFoot(): void {
    const card = this.card!;
    const cancel: FootButton | null = card.cancellable
      ? { key: 'cancel', label: this.around.trans.__('Cancel'), title: '', run: () => this.around.cancel(this.node, card.id) }
      : null;
    const links = [...this.placeLinks(card), ...this.blockLinks(card), ...this.foldLink(card), ...this.deedLinks(card)];
    // Of a call that is over, the note takes no line of its own; the status always has it as its tooltip.
    const note = FINISHED.includes(card.state) && !card.record && !links.length ? '' : card.note;
    this.foot.update({ cancel, record: card.record, note, links });
  }

  private placeLinks(card: Card): FootButton[] {
    if (card.blocks.some(block => LINKS_ITSELF.includes(block.type) || (block.type === 'diff' && block.titled && this.isOpen(card)))) {
      return [];
    }
    const alone = card.places.length === 1 ? this.around.trans.__('open file') : null;
    return card.places.slice(0, SHOWN_PLACES).map(place => this.placeLink(place, alone ?? shortName(place.path, place.line)));
  }

  private placeLink({ path, line }: Place, label: string): FootButton {
    const place = this.around.locate(path);
    const { trans } = this.around;
    return {
      key: `place ${path}:${line}`,
      label,
      title: place === null ? trans.__('%1 lies outside the folder that Jupyter serves', path) : trans.__('Open %1', path),
      run: place === null ? null : () => this.around.open(place, line)
    };
  }

  private blockLinks(card: Card): FootButton[] {
    const actions: Action[] = this.isOpen(card) ? this.drawn.flatMap(({ view }) => [...(view.actions?.() ?? [])]) : [];
    const labels = [...new Set(actions.map(({ label }) => label))];
    return labels.map((label, i) => ({ key: `block ${i}`, label, title: '', run: () => actions.forEach(one => one.label === label && one.run()) }));
  }

  private foldLink(card: Card): FootButton[] {
    if (!card.folded || card.blocks.length === 0) {
      return [];
    }
    const label = this.opened ? this.around.trans.__('fold') : card.unfold || this.around.trans.__('show');
    return [{ key: 'fold', label, title: '', run: () => this.toggle(), expanded: this.opened }];
  }

  /** The link goes quiet once it is pressed; what comes of it is a card, and another state of this one. */
  private deedLinks(card: Card): FootButton[] {
    return card.deeds.map(deed => {
      const key = `${deed.verb} ${deed.id}`;
      const run = this.asked.has(key) ? null : () => this.ask(key, deed);
      return { key, label: deed.label, title: deed.magic, run };
    });
  }

  private ask(key: string, deed: Deed): void {
    this.asked.add(key);
    this.drawFoot();
    this.around.ask(this.node, deed);
    window.setTimeout(() => this.asked.delete(key) && this.drawFoot(), PATIENCE);
  }

  private toggle(): void {
    this.opened = !this.opened;
    this.update(this.card!);
  }
}

function discard({ view }: Drawn): void {
  view.node.remove();
  view.dispose?.();
}
