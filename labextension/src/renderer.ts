import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { CardView } from './card.js';
import { attempt } from './parse.js';
import { locate } from './path.js';
import { plainText, surroundingsOf, type Services } from './surroundings.js';
import { MIME, parseCard, type Card } from './wire.js';

/** Before text/html (50), so that a bundle that has both is drawn as a card. */
const RANK = 40;

/** Draws one bundle and keeps its card through updates.  In an untrusted notebook a card asks nothing of the kernel. */
class RenderedCall extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private view: CardView | null = null;
  private folder = '';
  private root = '.';

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly services: Services
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = (options.translator ?? nullTranslator).load('nbtools_agent');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const card = attempt(parseCard, model.data[MIME]);
    if (card === null) {
      this.fallBack(model);
      return;
    }
    this.folder = await this.notebookFolder();
    this.draw(model.trusted ? card : { ...card, cancellable: false, deeds: [] });
  }

  override dispose(): void {
    this.view?.dispose();
    super.dispose();
  }

  private draw(card: Card): void {
    this.root = card.root;
    if (this.view === null) {
      this.view = new CardView(surroundingsOf(this.services, this.trans, path => locate(this.folder, this.root, path)));
      this.node.replaceChildren(this.view.node);
    }
    this.view.update(card);
  }

  /** One calm line and the plain text, for a card that an older or newer nbtools wrote. */
  private fallBack(model: IRenderMime.IMimeModel): void {
    this.view?.dispose();
    this.view = null;
    const said = this.trans.__('This card was written by another version of nbtools; here is its text.');
    this.node.replaceChildren(...plainText(said, model.data['text/plain']));
  }

  private async notebookFolder(): Promise<string> {
    const folder = await this.options.resolver?.resolveUrl('./');
    return folder === undefined ? '' : decodeURI(folder);
  }
}

/** Teaches a registry to draw cards; they are safe, being built from text alone, so untrusted notebooks show them too. */
export function addCallRenderer(services: Services): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [MIME], defaultRank: RANK, createRenderer: options => new RenderedCall(options, services) },
    RANK
  );
}
