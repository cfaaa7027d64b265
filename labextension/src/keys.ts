/** A question's answers by their key; each is the DOM class of its button. */
const ANSWERS: Readonly<Record<string, string>> = {
  y: 'nbtools-approve',
  a: 'nbtools-always',
  m: 'nbtools-modify',
  Escape: 'nbtools-cancel'
};

export type KeyAction = { readonly press: string } | 'native' | 'swallow' | 'pass';

export interface Key {
  readonly key: string;
  readonly repeat: boolean;
  readonly modified: boolean;
}

/**
 * What a key does inside a question, outside its text fields.
 *
 * The answers press their button.  Enter and Space are left to the focused button, past Jupyter's own shortcuts.  Other letters are
 * swallowed: the notebook's command mode would cut or delete the cell.  In the moment after the focus arrived by itself (`fresh`), and
 * while a key repeats, nothing answers: those keys were meant for something else.
 */
export function keyAction({ key, repeat, modified }: Key, fresh: boolean): KeyAction {
  if (modified) {
    return 'pass';
  }
  const answer = ANSWERS[key.length === 1 ? key.toLowerCase() : key];
  const acts = answer !== undefined || key === 'Enter' || key === ' ';
  if (acts && (fresh || repeat)) {
    return 'swallow';
  }
  if (answer !== undefined) {
    return { press: answer };
  }
  return acts ? 'native' : key.length === 1 ? 'swallow' : 'pass';
}
