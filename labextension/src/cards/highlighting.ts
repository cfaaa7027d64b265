import { readable } from './contrast.js';
import { element } from '../shared/element.js';
import type { Span } from './model.js';

const STYLE_NAME = /^(?:[kscndb]|mark|hit|hidden|warn|bold|dim|italic|underline|strike|[fb]g(?:\d|1[0-5]))$/;
const TRUE_COLOR = /^([fb]g)(#[0-9a-f]{6})$/i;
const LIGHT_BACKGROUND = '#ffffff';
const DARK_BACKGROUND = '#1b1b1b';

/** Sets a color's variants for the light and the dark theme as CSS variables; `adjust` makes them readable on the theme's background. */
function setColor(node: HTMLElement, role: string, hex: string, adjust: boolean): void {
  node.classList.add(`nbtools-${role}`);
  node.style.setProperty(`--nbtools-${role}-light`, adjust ? readable(hex, LIGHT_BACKGROUND) : hex);
  node.style.setProperty(`--nbtools-${role}-dark`, adjust ? readable(hex, DARK_BACKGROUND) : hex);
}

function drawSpan([text, style]: Span): Node {
  if (!style) {
    return document.createTextNode(text);
  }
  const node = element('span', '', text);
  const names = style.split(' ');
  const hasBackground = names.some(word => word.startsWith('bg'));
  for (const word of names) {
    const colour = TRUE_COLOR.exec(word);
    if (colour) {
      setColor(node, colour[1]!, colour[2]!, colour[1] === 'fg' && !hasBackground);
    } else if (STYLE_NAME.test(word)) {
      node.classList.add(`nbtools-s-${word}`);
    }
  }
  return node;
}

/** Converts styled text to nodes; unknown style names are ignored. */
export function drawSpans(spans: readonly Span[]): Node[] {
  return spans.map(drawSpan);
}

/** Returns the text without styles. */
export function plainText(spans: readonly Span[]): string {
  return spans.map(([text]) => text).join('');
}
