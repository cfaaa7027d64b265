/** Browsers draw nothing below some height (Firefox 17.8, Chromium 33.5 million pixels); a longer list scrolls in larger steps. */
const TALLEST = 15_000_000;
/** Rows drawn above and below those in view. */
const SPARE = 6;

export interface Scroll {
  readonly count: number;
  readonly row: number;
  readonly view: number;
  readonly top: number;
}

/** Rows `first` … `last` (exclusive) are to be drawn, row `i` at `i * row + shift` pixels in a box of `height`. */
export interface Placement {
  readonly height: number;
  readonly first: number;
  readonly last: number;
  readonly shift: number;
}

/** Pixels of the list that a pixel of the scroll bar stands for. */
function ratio({ count, row, view }: Omit<Scroll, 'top'>): number {
  const full = count * row;
  return full <= TALLEST ? 1 : (full - view) / (TALLEST - view);
}

export function place(scroll: Scroll): Placement {
  const { count, row, view, top } = scroll;
  const seen = top * ratio(scroll);
  return {
    height: Math.min(count * row, TALLEST),
    first: Math.max(0, Math.floor(seen / row) - SPARE),
    last: Math.min(count, Math.ceil((seen + view) / row) + SPARE),
    shift: top - seen
  };
}

/** Where to scroll so that a row is whole in view, moving as little as can be; `margin` rows stay beyond it. */
export function reveal(scroll: Scroll, index: number, margin = 0): number {
  const { count, row, view, top } = scroll;
  const scale = ratio(scroll);
  const room = Math.min(margin * row, Math.max((view - row) / 2, 0));
  const highest = (index + 1) * row - view + room;
  const lowest = index * row - room;
  const wanted = Math.min(Math.max(top * scale, highest), lowest);
  return wanted === top * scale ? top : Math.min(Math.max(wanted, 0), Math.max(count * row - view, 0)) / scale;
}
