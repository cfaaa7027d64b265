import type { TraceLine } from './model.js';

/** Name of the highlight in style sheets: `::highlight(nbtools-search)`. */
const NAME = 'nbtools-search';
const MAX_MARKS = 500;

/** Highlights texts in a node without changing it.  Browsers without the CSS Custom Highlight API show no highlights. */
export class SearchMarks {
  hits: readonly string[] = [];
  private ranges: Range[] = [];

  draw(node: HTMLElement): void {
    this.clear();
    const highlight = sharedHighlight();
    if (highlight && this.hits.length) {
      this.ranges = rangesOf(node, this.hits);
      this.ranges.forEach(range => highlight.add(range));
    }
  }

  clear(): void {
    const highlight = sharedHighlight();
    this.ranges.forEach(range => highlight?.delete(range));
    this.ranges = [];
  }
}

/** Returns the texts that a search has found in a row. */
export function hitsOf({ snippet }: TraceLine): string[] {
  return [...new Set(snippet.filter(([, names]) => names.split(' ').includes('hit')).map(([text]) => text.toLowerCase()))];
}

/** All explorers of a page share one highlight, because a style sheet names it. */
function sharedHighlight(): Highlight | null {
  if (typeof CSS === 'undefined' || !('highlights' in CSS)) {
    return null;
  }
  const existing = CSS.highlights.get(NAME) ?? new Highlight();
  CSS.highlights.set(NAME, existing);
  return existing;
}

function rangesOf(root: Node, hits: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() && ranges.length < MAX_MARKS) {
    const node = texts.currentNode as Text;
    const lower = node.data.toLowerCase();
    for (const hit of lower.length === node.data.length ? hits : []) {
      for (let at = lower.indexOf(hit); at >= 0 && ranges.length < MAX_MARKS; at = lower.indexOf(hit, at + hit.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + hit.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
