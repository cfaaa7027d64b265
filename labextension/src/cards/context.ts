import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import { drawMarkdown } from './markdown.js';
import type { CardContext, ICardServices } from '../shared/tokens.js';

/** Creates a card's context from the application's services; `locate` depends on the notebook that the card is in. */
export function cardContext(services: ICardServices, trans: TranslationBundle, locate: CardContext['locate']): CardContext {
  const { rendermime, opener, canceller, settings } = services;
  return {
    trans,
    settings,
    locate: path => (opener === null ? null : locate(path)),
    open: (path, line, cell) => void opener?.open(path, line, cell),
    cancel: (card, id) => canceller?.cancel(card, id),
    runAction: (card, action) => canceller?.runAction(card, action),
    markdown: async source => (rendermime.markdownParser ? drawMarkdown(rendermime.markdownParser, source) : element('pre', '', source))
  };
}

/** Shows the plain text of an output that another version of nbtools wrote. */
export function showOtherVersion(node: HTMLElement, trans: TranslationBundle, text: unknown): void {
  const notice = trans.__('This output cannot be displayed because it was written by another version of nbtools. Its text follows.');
  node.replaceChildren(...plainTextFallback(notice, text));
}

/** Returns a notice and the plain text of an output that this version cannot parse. */
export function plainTextFallback(notice: string, text: unknown): HTMLElement[] {
  return [
    element('div', 'nbtools-quiet', notice),
    element('pre', 'nbtools-plain', Array.isArray(text) ? text.join('') : String(text ?? ''))
  ];
}
