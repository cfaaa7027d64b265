import { element, linkButton } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { PagesBlock } from '../model.js';
import type { BlockView } from './block.js';

/** Pages that are shown at first. */
const FIRST_PAGES = 2;

/** Pictures of a document's pages: the first ones at once, the others on a click. */
export class PagesView implements BlockView<PagesBlock> {
  private readonly pages = element('div', 'nbtools-pages');
  private readonly button: HTMLButtonElement;
  private readonly extent = element('span', 'nbtools-extent');
  private readonly foot: HTMLElement;
  readonly node: HTMLElement;
  private block: PagesBlock | null = null;
  private expanded = false;

  constructor(private readonly context: CardContext) {
    this.button = linkButton('', () => this.toggle());
    this.foot = element('div', 'nbtools-more', this.button, this.extent);
    this.node = element('div', '', this.pages, this.foot);
  }

  update(block: PagesBlock): void {
    this.block = block;
    this.draw(block);
  }

  private toggle(): void {
    this.expanded = !this.expanded;
    this.draw(this.block!);
  }

  private draw({ path, pages, more }: PagesBlock): void {
    const { trans } = this.context;
    const shown = this.expanded ? pages : pages.slice(0, FIRST_PAGES);
    this.pages.replaceChildren(
      ...shown.map(({ number, data }) => {
        const picture = element('img', 'nbtools-page');
        picture.loading = 'lazy';
        picture.src = `data:image/png;base64,${data}`;
        picture.alt = trans.__('%1, page %2', path, number);
        return picture;
      })
    );
    const foldable = pages.length > FIRST_PAGES;
    this.button.textContent = this.expanded ? trans.__('Collapse') : trans.__('Show all %1', pages.length);
    this.button.hidden = !foldable;
    this.button.setAttribute('aria-expanded', String(this.expanded));
    this.extent.textContent = shown.length < pages.length ? trans.__('%1 of %2 pages', shown.length, pages.length) : more;
    this.foot.hidden = !foldable && !more;
  }
}
