/** Names of the highlights in style sheets: `::highlight(nbtools-search)`, and that of the current hit. */
const NAMES = ['nbtools-search', 'nbtools-search-current'] as const;
const MAX_MARKS = 500;
/** Texts that are no part of the step: buttons, and the line below a preview. */
const CONTROLS = '.nbtools-foot, .nbtools-more, .nbtools-trace-hits';
/** Elements whose text continues that of their neighbours. */
const INLINE = new Set(['A', 'B', 'BUTTON', 'CODE', 'DEL', 'EM', 'I', 'MARK', 'S', 'SPAN', 'STRONG']);

/** Marks texts in a node: with the CSS Custom Highlight API, which changes no nodes, or with `mark` elements in browsers without it. */
export class SearchMarks {
  hits: readonly string[] = [];
  private ranges: Range[] = [];
  private marks: HTMLElement[][] = [];
  private current = -1;

  /** Marks all hits in `node`, and returns how many there are. */
  draw(node: HTMLElement): number {
    this.clear();
    this.ranges = this.hits.length ? rangesOf(node, this.hits) : [];
    const highlights = sharedHighlights();
    if (highlights) {
      this.ranges.forEach(range => highlights[0].add(range));
    } else {
      this.marks = [...this.ranges].reverse().map(wrap).reverse(); // a wrapped text is split, which leaves earlier ranges valid
    }
    return this.count;
  }

  get count(): number {
    return this.ranges.length;
  }

  /** Marks one hit as the current one, and returns its place. */
  select(index: number): Range {
    const highlights = sharedHighlights();
    const range = this.ranges[index]!;
    highlights?.[1].delete(this.ranges[this.current] ?? range);
    highlights?.[1].add(range);
    this.marks.forEach((marks, i) => marks.forEach(mark => mark.classList.toggle('nbtools-current', i === index)));
    this.current = index;
    const [mark] = this.marks[index] ?? [];
    mark && range.selectNodeContents(mark);
    return range;
  }

  clear(): void {
    const highlights = sharedHighlights();
    this.ranges.forEach(range => highlights?.forEach(highlight => highlight.delete(range)));
    this.marks.flat().forEach(unwrap);
    this.ranges = [];
    this.marks = [];
    this.current = -1;
  }
}

/** Scrolls `range` into view in all scrollable elements around it, up to `root`. */
export function scrollToRange(range: Range, root: Element | null): void {
  const start = range.startContainer;
  for (let box = start instanceof Element ? start : start.parentElement; box; box = box === root ? null : box.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(box);
    const [mark, view] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    if (/auto|scroll/.test(overflowY) && (mark.top < view.top + 40 || mark.bottom > view.bottom - 40)) {
      box.scrollTop += mark.top - view.top - box.clientHeight / 3;
    }
    if (/auto|scroll/.test(overflowX) && (mark.left < view.left || mark.right > view.right)) {
      box.scrollLeft += mark.left - view.left - box.clientWidth / 3;
    }
  }
}

/** All explorers of a page share their highlights, because a style sheet names them. */
function sharedHighlights(): readonly [Highlight, Highlight] | null {
  if (typeof CSS === 'undefined' || !('highlights' in CSS)) {
    return null;
  }
  const [all, current] = NAMES.map((name, i) => {
    const highlight = CSS.highlights.get(name) ?? new Highlight();
    highlight.priority = i;
    CSS.highlights.set(name, highlight);
    return highlight;
  });
  return [all!, current!];
}

function rangesOf(root: Node, hits: readonly string[]): Range[] {
  const ranges: Range[] = [];
  for (const nodes of runsOf(root)) {
    const text = nodes.map(node => node.data).join('');
    const lower = text.toLowerCase();
    for (const [start, end] of lower.length === text.length ? placesOf(lower, hits) : []) {
      ranges.length < MAX_MARKS && ranges.push(rangeIn(nodes, start, end));
    }
  }
  return ranges;
}

/** Returns the visible text nodes of each run of inline text, in the order of the document. */
function runsOf(root: Node): Text[][] {
  const runs: Text[][] = [];
  let last: Element | null = null;
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode as Text;
    let block = node.parentElement;
    if (!block || block.closest(CONTROLS) || !block.getClientRects().length) {
      continue;
    }
    while (block !== root && INLINE.has(block!.tagName)) {
      block = block!.parentElement;
    }
    block === last ? runs.at(-1)!.push(node) : runs.push([node]);
    last = block;
  }
  return runs;
}

/** Returns the places of all hits in a text, in order; of two that overlap, the earlier one's. */
function placesOf(lower: string, hits: readonly string[]): [number, number][] {
  const places = hits.flatMap(hit => {
    const found: [number, number][] = [];
    for (let at = lower.indexOf(hit); at >= 0; at = lower.indexOf(hit, at + hit.length)) {
      found.push([at, at + hit.length]);
    }
    return found;
  });
  let last = 0;
  return places.sort(([a], [b]) => a - b).filter(([start, end]) => start >= last && (last = end) > 0);
}

function rangeIn(nodes: readonly Text[], start: number, end: number): Range {
  const range = document.createRange();
  let before = 0;
  for (const node of nodes) {
    const after = before + node.length;
    if (start >= before && start < after) {
      range.setStart(node, start - before);
    }
    if (end > before && end <= after) {
      range.setEnd(node, end - before);
    }
    before = after;
  }
  return range;
}

/** Puts the text of a range into `mark` elements, one for each text node. */
function wrap(range: Range): HTMLElement[] {
  const texts = document.createTreeWalker(range.commonAncestorContainer, NodeFilter.SHOW_TEXT);
  const nodes: Text[] = [];
  for (let node: Node | null = texts.currentNode; node; node = texts.nextNode()) {
    node instanceof Text && range.intersectsNode(node) && nodes.push(node);
  }
  const { startContainer, startOffset, endContainer, endOffset } = range;
  return nodes.map(node => {
    const end = node === endContainer ? endOffset : node.length;
    const part = node === startContainer && startOffset ? node.splitText(startOffset) : node;
    part.splitText(end - (part === node ? 0 : startOffset));
    const mark = document.createElement('mark');
    part.replaceWith(mark);
    mark.append(part);
    return mark;
  });
}

function unwrap(mark: HTMLElement): void {
  const parent = mark.parentNode;
  mark.replaceWith(...mark.childNodes);
  parent?.normalize();
}
