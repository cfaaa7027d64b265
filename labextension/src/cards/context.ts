import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import { drawMarkdown } from './markdown.js';
import type { ICallCanceller, IFileOpener, ISettings, CardContext } from '../shared/tokens.js';

/** The application's services for cards.  Without an opener or a canceller, cards are read-only. */
export interface Services {
  readonly rendermime: IRenderMimeRegistry;
  readonly opener: IFileOpener | null;
  readonly canceller: ICallCanceller | null;
  readonly settings?: ISettings | null;
}

/** Creates a card's context from the application's services; `locate` depends on the notebook that the card is in. */
export function cardContext(services: Services, trans: TranslationBundle, locate: CardContext['locate']): CardContext {
  const { rendermime, opener, canceller } = services;
  return {
    trans,
    settings: services.settings ?? null,
    locate: path => (opener === null ? null : locate(path)),
    open: (path, line, cell) => void opener?.open(path, line, cell),
    cancel: (card, id) => canceller?.cancel(card, id),
    runAction: (card, action) => canceller?.runAction(card, action),
    markdown: async source => (rendermime.markdownParser ? drawMarkdown(rendermime.markdownParser, source) : element('pre', '', source))
  };
}

/** Returns a notice and the plain text of an output that this version cannot parse. */
export function plainTextFallback(notice: string, text: unknown): HTMLElement[] {
  return [
    element('div', 'nbtools-quiet', notice),
    element('pre', 'nbtools-plain', Array.isArray(text) ? text.join('') : String(text ?? ''))
  ];
}
