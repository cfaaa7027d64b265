import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { element } from '../shared/element.js';

const ALLOWED_TAGS: ReadonlySet<string> = new Set(
  'h1 h2 h3 h4 h5 h6 a b blockquote br code del em hr i li ol p pre s strong sub sup table tbody td th thead tr ul'.split(' ')
);
const WEB_URL = /^(https?|mailto):/i;
/** Class names that CodeMirror generates for highlighted code; the parser's `span` elements have no others. */
const HIGHLIGHT_CLASS = /^\u037c[0-9a-z]+$/;
const ALIGNMENTS: ReadonlySet<string> = new Set(['left', 'center', 'right']);
/**
 * What makes a Mermaid diagram of a code block, wherever the block begins.  Diagrams are shown as source, because drawing one loads what its
 * labels and styles name.
 */
const MERMAID = /([`~]{3}[^\S\r\n]*)mermaid(?!\S)/gi;

/**
 * Renders markdown to sanitized nodes: no images, formulas or styles, and links only to the web and to mail addresses.
 *
 * The parser's HTML is parsed in a separate document, in which nothing loads or runs.  Allowed elements are copied; the tags of all others
 * are shown as text.
 */
export async function drawMarkdown(parser: IRenderMime.IMarkdownParser, source: string): Promise<HTMLElement> {
  const markup = await parser.render(source.replace(MERMAID, '$1text'));
  const { body } = new DOMParser().parseFromString(markup, 'text/html');
  return element('div', 'jp-RenderedHTMLCommon nbtools-markdown', ...sanitizedChildren(body));
}

function sanitizedChildren(parent: Node): (Node | string)[] {
  return [...parent.childNodes].flatMap(node => (node instanceof Element ? sanitizedElement(node) : [node.nodeValue ?? '']));
}

function sanitizedElement(source: Element): (Node | string)[] {
  const name = source.localName;
  if (name === 'img') {
    return [source.getAttribute('alt') ?? ''];
  }
  if (isHighlight(source)) {
    return [element('span', source.className, ...sanitizedChildren(source))];
  }
  if (isTaskBox(source)) {
    return [source.hasAttribute('checked') ? '☑' : '☐'];
  }
  if (!ALLOWED_TAGS.has(name)) {
    return [openingTag(source), ...sanitizedChildren(source), ...(source.outerHTML.endsWith(`</${name}>`) ? [`</${name}>`] : [])];
  }
  const copy = document.createElement(name);
  copy.append(...sanitizedChildren(source));
  if (copy instanceof HTMLAnchorElement) {
    setTarget(copy, source.getAttribute('href') ?? '');
  } else if (copy instanceof HTMLOListElement) {
    copy.start = Number.parseInt(source.getAttribute('start') ?? '1', 10) || 0;
  } else if (copy instanceof HTMLTableCellElement && ALIGNMENTS.has(source.getAttribute('align') ?? '')) {
    copy.style.textAlign = source.getAttribute('align')!;
  } else if (copy instanceof HTMLPreElement) {
    copy.tabIndex = 0; // long lines scroll, and not every browser lets the keyboard reach a box that scrolls
  }
  return [copy];
}

/** Whether the element highlights code in a fenced block.  Any other `span` was written by the text's author. */
function isHighlight(source: Element): boolean {
  return (
    source.localName === 'span' && source.closest('pre > code') !== null && [...source.classList].every(name => HIGHLIGHT_CLASS.test(name))
  );
}

/** Whether the element is the checkbox that the parser creates for `- [ ]` or `- [x]`. */
function isTaskBox(source: Element): boolean {
  const names = source
    .getAttributeNames()
    .filter(name => name !== 'checked')
    .sort()
    .join(' ');
  return source.localName === 'input' && names === 'disabled type' && source.getAttribute('type') === 'checkbox';
}

/** Returns the source of an element's opening tag. */
function openingTag(source: Element): string {
  return (source.cloneNode(false) as Element).outerHTML.replace(/<\/[^>]*>$/, '');
}

function setTarget(link: HTMLAnchorElement, target: string): void {
  if (WEB_URL.test(target)) {
    link.href = target;
    link.rel = 'noopener noreferrer';
    link.target = '_blank';
  }
}
