import type { TranslationBundle } from '@jupyterlab/translation';
import { element, keepKeys, linkButton } from './element.js';
import type { StackPage } from './stack.js';

/** What is drawn on a page. */
export type PageView = Pick<StackPage, 'node' | 'focus' | 'dispose'>;

/**
 * Creates a page whose code is loaded with it.
 *
 * `create` rejects if the server does not have the code, for example because nbtools was updated while the page was open.
 */
export function deferredPage(
  trans: TranslationBundle,
  title: string,
  create: () => Promise<PageView>,
  links: readonly HTMLElement[] = []
): StackPage {
  const node = element('div', 'nbtools-deferred');
  let view: PageView | null = null;
  let isDisposed = false;
  let isFocusWanted = false;
  let releaseKeys: (() => void) | null = null;
  const load = async () => {
    node.replaceChildren(message(trans.__('Loading…')));
    try {
      const created = await create();
      if (isDisposed) {
        created.dispose();
        return;
      }
      view = created;
      releaseKeys?.();
      node.replaceChildren(view.node);
      isFocusWanted && view.focus();
    } catch {
      releaseKeys ??= keepKeys(node);
      const retry = linkButton(trans.__('Try again'), () => {
        isFocusWanted = true;
        void load();
      });
      node.replaceChildren(message(trans.__('This page could not be loaded. Try again, or reload the page.'), retry));
      isFocusWanted && retry.focus();
    }
  };
  void load();
  return {
    node,
    title,
    links,
    focus: () => {
      isFocusWanted = true;
      view?.focus();
    },
    dispose: () => {
      isDisposed = true;
      releaseKeys?.();
      view?.dispose();
    }
  };
}

function message(text: string, ...more: Node[]): HTMLElement {
  const node = element('p', 'nbtools-sessions-message', text, ' ', ...more);
  node.setAttribute('role', 'status');
  return node;
}
