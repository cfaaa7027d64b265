import type { TranslationBundle } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
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
  /** The person's settings; without them, the defaults of `setting_values.ts` hold. */
  readonly settings?: ISettings | null;
  /** Converts a workspace path to a server path; null if the file cannot be opened. */
  locate(path: string): string | null;
  /** Opens a server path, as returned by `locate`. */
  open(path: string, line: number | null): void;
  cancel(card: HTMLElement, id: string): void;
  runAction(card: HTMLElement, action: CardAction): void;
  /** Renders markdown to sanitized nodes. */
  markdown(source: string): Promise<HTMLElement>;
}

/** The settings of the front end (*Settings → nbtools*).  Nothing in them concerns the kernel's policy. */
export interface SettingValues {
  readonly diffLayout: 'auto' | 'split' | 'unified';
  /** Lines that a card shows of a result at first, 1–200. */
  readonly previewLines: number;
  readonly notifications: boolean;
  /** Seconds that a question waits unseen before its notification, 0–3600. */
  readonly notifyAfter: number;
  readonly followChanges: boolean;
}

/** The current settings: the defaults until they are loaded, and where the application has no settings. */
export interface ISettings {
  readonly values: SettingValues;
  readonly changed: ISignal<ISettings, SettingValues>;
}
export const ISettings = new Token<ISettings>('nbtools-agent:ISettings', 'The settings of nbtools in the front end.');
