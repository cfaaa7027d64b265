import { readable } from './colour.js';
import { element } from './element.js';
import type { Span } from './wire.js';

const WORD = /^(?:[kscndb]|mark|hit|hidden|warn|bold|dim|italic|underline|strike|[fb]g(?:\d|1[0-5]))$/;
const TRUE_COLOUR = /^([fb]g)(#[0-9a-f]{6})$/i;
const LIGHT_PAPER = '#ffffff';
const DARK_PAPER = '#1b1b1b';

/** Both themes' versions of a colour; the stylesheet picks one. */
function paint(node: HTMLElement, role: string, hex: string, onPaper: boolean): void {
  node.classList.add(`nbtools-${role}`);
  node.style.setProperty(`--nbtools-${role}-light`, onPaper ? readable(hex, LIGHT_PAPER) : hex);
  node.style.setProperty(`--nbtools-${role}-dark`, onPaper ? readable(hex, DARK_PAPER) : hex);
}

function drawSpan([text, style]: Span): Node {
  if (!style) {
    return document.createTextNode(text);
  }
  const node = element('span', '', text);
  const words = style.split(' ');
  const hasGround = words.some(word => word.startsWith('bg'));
  for (const word of words) {
    const colour = TRUE_COLOUR.exec(word);
    if (colour) {
      paint(node, colour[1]!, colour[2]!, colour[1] === 'fg' && !hasGround);
    } else if (WORD.test(word)) {
      node.classList.add(`nbtools-s-${word}`);
    }
  }
  return node;
}

/** Styled text as nodes; words that are not known draw nothing. */
export function drawSpans(spans: readonly Span[]): Node[] {
  return spans.map(drawSpan);
}

/** The text alone. */
export function plainText(spans: readonly Span[]): string {
  return spans.map(([text]) => text).join('');
}
