/** The type of the event that a question dispatches from its node when the person presses Modify.  It bubbles and can be cancelled. */
export const EDIT_EVENT = 'nbtools-edit';
/** The type of the event that a question dispatches at the host of an editor that it does not need any more.  It does not bubble. */
export const END_EVENT = 'nbtools-edit-end';

/**
 * The request of a question for an editor.
 *
 * A listener answers it by mounting an editor for `proposed` into the empty element `host` and cancelling the event; otherwise the
 * question shows a text area.  The editor reports every change of its text, and Update proposal (`onSubmit`) and Back (`onCancel`) where
 * it has keys for them; the question has buttons for both.
 */
export interface EditRequest {
  readonly host: HTMLElement;
  /** The text of the file now; empty for a new file, and for a command or arguments. */
  readonly original: string;
  readonly proposed: string;
  /** The path of the file in the workspace; empty for a command or arguments. */
  readonly path: string;
  /** The accessible name of the editor. */
  readonly label: string;
  onChange(text: string): void;
  onSubmit(): void;
  onCancel(): void;
}
