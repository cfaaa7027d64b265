import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { CardView } from './card.js';
import { tryParse } from '../shared/parse.js';
import { locate } from '../shared/path.js';
import type { ICardServices } from '../shared/tokens.js';
import { cardContext, showOtherVersion } from './context.js';
import { unpackCard } from './packing.js';
import { MIME, parseCard, type Card } from './model.js';
import { catalogue } from '../shared/catalogue.js';

/** Preferred over text/html, which has rank 50. */
const RANK = 40;

/** Renders a call's output as a card, and updates it.  In an untrusted notebook the card cannot send requests to the kernel. */
class RenderedCall extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private view: CardView | null = null;
  private folder = '';
  private root = '.';
  /** Number of drawings begun: an update that is unpacked after a later one is dropped. */
  private drawings = 0;

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly services: ICardServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const drawing = ++this.drawings;
    const card = tryParse(parseCard, await unpackCard(model.data[MIME]));
    const folder = await this.notebookFolder();
    if (drawing !== this.drawings || this.isDisposed) {
      return;
    }
    if (card === null) {
      this.showPlainText(model);
      return;
    }
    this.folder = folder;
    this.draw(model.trusted ? card : { ...card, cancellable: false, deeds: [] });
  }

  override dispose(): void {
    this.view?.dispose();
    super.dispose();
  }

  private draw(card: Card): void {
    this.root = card.root;
    if (this.view === null) {
      this.view = new CardView(cardContext(this.services, this.trans, path => locate(this.folder, this.root, path)));
      this.node.replaceChildren(this.view.node);
    }
    this.view.update(card);
  }

  /** Shows the plain text of a card that an incompatible version of nbtools wrote. */
  private showPlainText(model: IRenderMime.IMimeModel): void {
    this.view?.dispose();
    this.view = null;
    showOtherVersion(this.node, this.trans, model.data['text/plain']);
  }

  private async notebookFolder(): Promise<string> {
    const folder = await this.options.resolver?.resolveUrl('./');
    return folder === undefined ? '' : decodeURI(folder);
  }
}

/** Registers the renderer of cards.  It is safe, because cards are built from text nodes: untrusted notebooks show them too. */
export function addCallRenderer(services: ICardServices): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [MIME], defaultRank: RANK, createRenderer: options => new RenderedCall(options, services) },
    RANK
  );
}
