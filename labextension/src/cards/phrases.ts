import type { TranslationBundle } from '@jupyterlab/translation';

/**
 * The texts of the kernel that are the same on every card, as `nbtools/cards/phrases.py` has them.  They are listed for the
 * catalogue of translations; nothing calls this.
 */
export const PHRASES = (trans: TranslationBundle): readonly string[] => [
  trans.__('Needs your answer'),
  trans.__('Checking'),
  trans.__('Queued'),
  trans.__('Running'),
  trans.__('Done'),
  trans.__('Answered'),
  trans.__('Denied'),
  trans.__('Skipped'),
  trans.__('Cancelled'),
  trans.__('Undone'),
  trans.__('Undone since'),
  trans.__('Restored'),
  trans.__('Merged'),
  trans.__('Not allowed'),
  trans.__('Invalid parameters'),
  trans.__('Failed'),
  trans.__('The tool crashed'),
  trans.__('No such tool'),
  trans.__('File not found'),
  trans.__('Could not write'),
  trans.__('Could not read'),
  trans.__('Already exists'),
  trans.__('File too large'),
  trans.__('No permission'),
  trans.__('Disk full'),
  trans.__('Is a folder'),
  trans.__('Outside the workspace'),
  trans.__('Path not found'),
  trans.__('Not a folder'),
  trans.__('Edit not possible'),
  trans.__('Text not found'),
  trans.__('Text found more than once'),
  trans.__('Nothing to change'),
  trans.__('Search failed'),
  trans.__('Listing failed'),
  trans.__("The server's tool failed"),
  trans.__('Resource not found'),
  trans.__('Could not save the memory'),
  trans.__('Could not start'),
  trans.__('Blocked by the sandbox'),
  trans.__("The tool's command failed"),
  trans.__('No URL'),
  trans.__('Could not fetch'),
  trans.__('Stopped'),
  trans.__('Approval required'),
  trans.__('Timed out'),
  trans.__('Changed in the meantime'),
  trans.__('Traceback'),
  trans.__('show diff'),
  trans.__('show text'),
  trans.__('undo'),
  trans.__('redo'),
  trans.__('Merge'),
  trans.__('Keep mine'),
  trans.__('Take back'),
  trans.__('show')
];

/** Translates a fixed text of a card.  Other texts name files, counts or servers and stay in the language of the kernel, English. */
export function phrase(trans: TranslationBundle, text: string): string {
  // eslint-disable-next-line jupyter/no-dynamic-translation -- the catalogue has the texts from PHRASES
  return text.includes('%') ? text : trans.gettext(text); // a percent sign would be taken for a placeholder
}
