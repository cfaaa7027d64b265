import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { element } from './element.js';

const KEPT: ReadonlySet<string> = new Set(
  'h1 h2 h3 h4 h5 h6 a b blockquote br code del em hr i li ol p pre s strong sub sup table tbody td th thead tr ul'.split(' ')
);
const WEB = /^(https?|mailto):/i;
/** The class names that CodeMirror makes up for its highlight styles, which is all that the parser's `span` elements carry. */
const HIGHLIGHT = /^\u037c[0-9a-z]+$/;
const ALIGNED: ReadonlySet<string> = new Set(['left', 'center', 'right']);
/** A diagram's source stays text: what would draw it takes no care of what it says. */
const DIAGRAM = /^([ \t>]*(?:`{3,}|~{3,}))[ \t]*mermaid\b/gim;

/**
 * Markdown as nodes that can do nothing: no pictures, no formulas, no styles, links to the web only.
 *
 * The parser's markup is read in a document of its own, where nothing loads or runs, and only what is known is made anew; other elements
 * stand there as the text that they are.
 */
export async function drawMarkdown(parser: IRenderMime.IMarkdownParser, source: string): Promise<HTMLElement> {
  const markup = await parser.render(source.replace(DIAGRAM, '$1text'));
  const { body } = new DOMParser().parseFromString(markup, 'text/html');
  return element('div', 'jp-RenderedHTMLCommon nbtools-markdown', ...redrawn(body));
}

function redrawn(parent: Node): (Node | string)[] {
  return [...parent.childNodes].flatMap(node => (node instanceof Element ? redrawnElement(node) : [node.nodeValue ?? '']));
}

function redrawnElement(source: Element): (Node | string)[] {
  const name = source.localName;
  if (name === 'img') {
    return [source.getAttribute('alt') ?? ''];
  }
  if (isHighlight(source)) {
    return [element('span', source.className, ...redrawn(source))];
  }
  if (isTaskBox(source)) {
    return [source.hasAttribute('checked') ? '☑' : '☐'];
  }
  if (!KEPT.has(name)) {
    return [opening(source), ...redrawn(source), ...(source.outerHTML.endsWith(`</${name}>`) ? [`</${name}>`] : [])];
  }
  const fresh = document.createElement(name);
  fresh.append(...redrawn(source));
  if (fresh instanceof HTMLAnchorElement) {
    aim(fresh, source.getAttribute('href') ?? '');
  } else if (fresh instanceof HTMLOListElement) {
    fresh.start = Number.parseInt(source.getAttribute('start') ?? '1', 10) || 0;
  } else if (fresh instanceof HTMLTableCellElement && ALIGNED.has(source.getAttribute('align') ?? '')) {
    fresh.style.textAlign = source.getAttribute('align')!;
  }
  return [fresh];
}

/** Whether the element colours part of a fenced code block; any other `span` was written by the text's author. */
function isHighlight(source: Element): boolean {
  return source.localName === 'span' && source.closest('pre > code') !== null && [...source.classList].every(name => HIGHLIGHT.test(name));
}

/** Whether the element is the box that the parser makes of `- [ ]` or `- [x]`. */
function isTaskBox(source: Element): boolean {
  const names = source.getAttributeNames().filter(name => name !== 'checked').sort().join(' ');
  return source.localName === 'input' && names === 'disabled type' && source.getAttribute('type') === 'checkbox';
}

/** The tag as it would be written. */
function opening(source: Element): string {
  return (source.cloneNode(false) as Element).outerHTML.replace(/<\/[^>]*>$/, '');
}

function aim(link: HTMLAnchorElement, target: string): void {
  if (WEB.test(target)) {
    link.href = target;
    link.rel = 'noopener noreferrer';
    link.target = '_blank';
  }
}
