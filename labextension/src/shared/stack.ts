import { element, focusedIn, keepKeys, linkButton } from './element.js';

/** A page of a stack. */
export interface StackPage {
  readonly node: HTMLElement;
  /** The label of the way back to the page from those above it. */
  readonly title: string;
  /** What the page offers beside the ways back. */
  readonly links?: readonly HTMLElement[];
  focus(): void;
  dispose(): void;
}

interface StackEntry {
  page: StackPage;
  /** What had the focus when another page was opened above. */
  focused: HTMLElement | null;
}

/** Pages above one another, of which the top one is shown, with a way back to each below it.  These stay as they are: focus and scroll positions come back. */
export class PageStack {
  readonly node = element('div', 'nbtools-stack');
  private readonly links = element('nav', 'nbtools-log-links');
  private readonly entries: StackEntry[] = [];
  private readonly releaseKeys = keepKeys(this.links);

  constructor() {
    this.links.hidden = true;
    this.node.append(this.links);
  }

  get top(): StackPage | null {
    return this.entries.at(-1)?.page ?? null;
  }

  /** Opens a page above the others. */
  push(page: StackPage): void {
    const below = this.entries.at(-1);
    if (below) {
      below.focused = focusedIn(below.page.node);
      below.page.node.style.display = 'none';
    }
    this.entries.push({ page, focused: null });
    this.node.append(page.node);
    this.draw();
    below && this.focusTop();
  }

  /** Shows a page in place of the top one. */
  replace(page: StackPage): void {
    const entry = this.entries.at(-1)!;
    const hadFocus = focusedIn(this.node) !== null;
    entry.page.dispose();
    entry.page.node.replaceWith(page.node);
    entry.page = page;
    this.draw();
    hadFocus && this.focusTop();
  }

  /** Closes the pages above one, by default the top one. */
  back(to = this.entries.at(-2)?.page): void {
    while (to && this.top !== to && this.entries.length > 1) {
      const { page } = this.entries.pop()!;
      page.dispose();
      page.node.remove();
    }
    const entry = this.entries.at(-1);
    if (entry) {
      entry.page.node.style.display = '';
      this.draw();
      entry.focused?.isConnected ? entry.focused.focus() : entry.page.focus();
    }
  }

  dispose(): void {
    this.releaseKeys();
    this.entries.splice(0).forEach(({ page }) => page.dispose());
  }

  private draw(): void {
    const below = this.entries.slice(0, -1).map(({ page }) => linkButton(`← ${page.title}`, () => this.back(page)));
    this.links.replaceChildren(...below, ...(this.top?.links ?? []));
    this.links.hidden = this.links.childElementCount === 0;
  }

  /** Moves the focus to the top page; to the way back from it, if there is nothing on it that can have the focus. */
  private focusTop(): void {
    this.links
      .querySelectorAll('button')
      .item(this.entries.length - 2)
      ?.focus();
    this.top?.focus();
  }
}
