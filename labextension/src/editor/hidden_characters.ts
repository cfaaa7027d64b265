import type { Extension } from '@codemirror/state';
import { EditorView, highlightSpecialChars } from '@codemirror/view';
import { element } from '../shared/element.js';

/** Characters that cannot be seen, except those of an emoji: the same as in the kernel's `hidden_characters`. */
const HIDDEN =
  /(?<!\p{So}\ufe0f?)[\ufe0e\ufe0f\u200d]|(?![\t\n \ufe0e\ufe0f\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u180b-\u180d\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
const DELETED = '.cm-deletedChunk';

/** Shows characters that cannot be seen as `‹U+202E›`, in the text and in the lines that a change has deleted. */
export function hiddenCharacters(): Extension {
  return [
    highlightSpecialChars({ specialChars: HIDDEN, render: shown }),
    EditorView.updateListener.of(({ view }) => view.requestMeasure({ read: () => undefined, write: () => markDeleted(view) }))
  ];
}

function shown(code: number): HTMLElement {
  return element('span', 'nbtools-s-hidden', `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`);
}

/** Replaces the hidden characters of deleted lines, which the merge view draws as they are. */
function markDeleted(view: EditorView): void {
  for (const chunk of view.dom.querySelectorAll(DELETED)) {
    const texts = document.createTreeWalker(chunk, NodeFilter.SHOW_TEXT);
    const found: Text[] = [];
    while (texts.nextNode()) {
      found.push(texts.currentNode as Text);
    }
    found.forEach(text => {
      const parts = drawn(text.data);
      parts && text.replaceWith(...parts);
    });
  }
}

/** Returns a text with its hidden characters drawn; null if it has none. */
function drawn(text: string): (string | Node)[] | null {
  const parts: (string | Node)[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    parts.push(text.slice(end, match.index), shown(match[0].codePointAt(0)!));
    end = match.index + match[0].length;
  }
  return parts.length ? [...parts, text.slice(end)] : null;
}
