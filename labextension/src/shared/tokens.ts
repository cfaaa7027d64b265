import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';
import type { CardAction } from '../cards/model.js';
import type { MethodName, Params } from './channel.js';
import type { EndedCall, FileChange, RulesState, RunningCall, ServerRow, StateOutcome, WaitingQuestion } from '../panel/model.js';

/** Opens a file of the Jupyter server at a line (1-based). */
export interface IFileOpener {
  /** `cell` is the id of a notebook's cell, or empty. */
  open(path: string, line: number | null, cell?: string): Promise<void>;
}
export const IFileOpener = new Token<IFileOpener>('nbtools-agent:IFileOpener', 'Opens a file at a line.');

/** Sends requests about a card's call to the kernel: cancel it, or run one of its actions (undo, merge). */
export interface ICallCanceller {
  cancel(card: HTMLElement, id: string): void;
  runAction(card: HTMLElement, action: CardAction): void;
}
export const ICallCanceller = new Token<ICallCanceller>('nbtools-agent:ICallCanceller', "Cancels and undoes a card's call.");

/** The application's services for cards.  Without an opener or a canceller, cards are read-only. */
export interface ICardServices {
  readonly rendermime: IRenderMimeRegistry;
  readonly opener: IFileOpener | null;
  readonly canceller: ICallCanceller | null;
  readonly settings: ISettings | null;
}
export const ICardServices = new Token<ICardServices>('nbtools-agent:ICardServices', 'The services of the application for cards.');

/** The services that a card uses. */
export interface CardContext {
  readonly trans: TranslationBundle;
  /** The person's settings; without them, the defaults of `setting_values.ts` hold. */
  readonly settings?: ISettings | null;
  /** Converts a workspace path to a server path; null if the file cannot be opened. */
  locate(path: string): string | null;
  /** Opens a server path, as returned by `locate`. */
  open(path: string, line: number | null, cell?: string): void;
  cancel(card: HTMLElement, id: string): void;
  runAction(card: HTMLElement, action: CardAction): void;
  /** Renders markdown to sanitized nodes. */
  markdown(source: string): Promise<HTMLElement>;
  /** What is applied of each diff of a question that offers a choice, in their order. */
  readonly choices?: readonly ChangeChoice[] | null;
}

/** What is applied of a diff: the file's change as a whole, and its hunks in their order. */
export interface ChangeChoice {
  readonly taken: boolean;
  readonly hunks: readonly boolean[];
  /** Whether the file can be left out; a single one is denied instead. */
  readonly hasBox: boolean;
  take(taken: boolean): void;
  takeHunk(hunk: number, taken: boolean): void;
  /** Opens the editor of the file's text; null if there is none. */
  readonly modify: (() => void) | null;
}

/** The settings of the front end (*Settings → nbtools*).  Nothing in them concerns the kernel's policy. */
export interface SettingValues {
  readonly diffLayout: 'auto' | 'split' | 'unified';
  /** Lines that a card shows of a result at first, 1–200. */
  readonly previewLines: number;
  readonly wrapLines: boolean;
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

/** The state of nbtools in a kernel, as last reported. */
export interface FollowedState {
  /** The workspace, as a person writes it. */
  readonly folder: string;
  /** The workspace relative to the notebook's folder. */
  readonly root: string;
  readonly questions: readonly WaitingQuestion[];
  readonly running: readonly RunningCall[];
  readonly ended: readonly EndedCall[];
  readonly changes: readonly FileChange[];
  readonly rules: RulesState | null;
  readonly servers: readonly ServerRow[];
}

/** A kernel of open notebooks. */
export interface FollowedKernel {
  /** The kernel's id. */
  readonly kernel: string;
  readonly panels: readonly NotebookPanel[];
  /** The path of its first notebook; of one that was closed while something waits or runs there, when it has no panels. */
  readonly path: string;
  /** Whether nbtools is loaded in the kernel. */
  readonly loaded: boolean;
  /** Null until a tool has been used, or the page has sent a request: then there is no session yet. */
  readonly state: FollowedState | null;
  /** Seconds by which the kernel's clock is ahead of the page's. */
  readonly clockOffset: number;
}

/** The methods that the panel and notifications call. */
export type PanelMethod = Exclude<Extract<MethodName, `panel.${string}`>, 'panel.seen'>;

/** Calls a method of a kernel for its panel.  Rejects with `RequestError`. */
export type StateMethod = <M extends PanelMethod>(method: M, params: Params<M>) => Promise<StateOutcome>;

/** The states of the kernels of all open notebooks. */
export interface IKernelStates {
  readonly current: readonly FollowedKernel[];
  /** Emitted after every change; `current` has the new states. */
  readonly changed: ISignal<IKernelStates, void>;
  /** Returns what sends requests to a kernel.  They reject if the kernel has no nbtools, ends or restarts.  Check `confirm` of the outcome. */
  request(kernel: string): StateMethod;
}
export const IKernelStates = new Token<IKernelStates>('nbtools-agent:IKernelStates', 'The states of the kernels of open notebooks.');
