import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from './element.js';
import { drawMarkdown } from './markdown.js';
import type { ICallCanceller, IFileOpener, Surroundings } from './tokens.js';

/** What the application offers to cards; either may be missing, then cards only show. */
export interface Services {
  readonly rendermime: IRenderMimeRegistry;
  readonly opener: IFileOpener | null;
  readonly canceller: ICallCanceller | null;
}

/** What cards need, of the application; where its files are, a card knows itself. */
export function surroundingsOf(services: Services, trans: TranslationBundle, locate: Surroundings['locate']): Surroundings {
  const { rendermime, opener, canceller } = services;
  return {
    trans,
    locate: path => (opener === null ? null : locate(path)),
    open: (path, line) => void opener?.open(path, line),
    cancel: (card, id) => canceller?.cancel(card, id),
    ask: (card, deed) => canceller?.ask(card, deed),
    markdown: async source => (rendermime.markdownParser ? drawMarkdown(rendermime.markdownParser, source) : element('pre', '', source))
  };
}

/** One calm line and the plain text, for what an older or newer nbtools wrote. */
export function plainText(said: string, text: unknown): HTMLElement[] {
  return [element('div', 'nbtools-quiet', said), element('pre', 'nbtools-plain', Array.isArray(text) ? text.join('') : String(text ?? ''))];
}
