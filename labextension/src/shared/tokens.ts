import type { TranslationBundle } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import type { CardAction } from '../cards/model.js';

/** Opens a file of the Jupyter server at a line (1-based). */
export interface IFileOpener {
  open(path: string, line: number | null): Promise<void>;
}
export const IFileOpener = new Token<IFileOpener>('nbtools-agent:IFileOpener', 'Opens a file at a line.');

/** Sends requests about a card's call to the kernel: cancel it, or run one of its actions (undo, merge). */
export interface ICallCanceller {
  cancel(card: HTMLElement, id: string): void;
  runAction(card: HTMLElement, action: CardAction): void;
}
export const ICallCanceller = new Token<ICallCanceller>('nbtools-agent:ICallCanceller', "Cancels and undoes a card's call.");

/** The services that a card uses. */
export interface CardContext {
  readonly trans: TranslationBundle;
  /** Converts a workspace path to a server path; null if the file cannot be opened. */
  locate(path: string): string | null;
  /** Opens a server path, as returned by `locate`. */
  open(path: string, line: number | null): void;
  cancel(card: HTMLElement, id: string): void;
  runAction(card: HTMLElement, action: CardAction): void;
  /** Renders markdown to sanitized nodes. */
  markdown(source: string): Promise<HTMLElement>;
}
