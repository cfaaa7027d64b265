/** Maximum height in pixels.  Browsers limit it (Firefox 17.8, Chromium 33.5 million pixels); longer lists scroll in larger steps. */
const MAX_HEIGHT = 15_000_000;
/** Number of rows drawn above and below the visible ones. */
const OVERSCAN = 6;

export interface ScrollState {
  readonly count: number;
  readonly rowHeight: number;
  readonly viewHeight: number;
  readonly top: number;
}

/** The rows to draw: `first` … `last` (exclusive), row `i` at `i * rowHeight + shift` pixels in a box of `height` pixels. */
export interface Placement {
  readonly height: number;
  readonly first: number;
  readonly last: number;
  readonly shift: number;
}

/** Returns how many pixels of the list one pixel of the scrollable box represents. */
function scrollRatio({ count, rowHeight, viewHeight }: Omit<ScrollState, 'top'>): number {
  const full = count * rowHeight;
  return full <= MAX_HEIGHT ? 1 : (full - viewHeight) / (MAX_HEIGHT - viewHeight);
}

export function placeRows(scroll: ScrollState): Placement {
  const { count, rowHeight, viewHeight, top } = scroll;
  const listTop = top * scrollRatio(scroll);
  return {
    height: Math.min(count * rowHeight, MAX_HEIGHT),
    first: Math.max(0, Math.floor(listTop / rowHeight) - OVERSCAN),
    last: Math.min(count, Math.ceil((listTop + viewHeight) / rowHeight) + OVERSCAN),
    shift: top - listTop
  };
}

/** Returns the rows from the first that is fully in view to the last (exclusive). */
export function rowsInView(scroll: ScrollState): readonly [number, number] {
  const { count, rowHeight, viewHeight, top } = scroll;
  const listTop = top * scrollRatio(scroll);
  const first = Math.ceil(listTop / rowHeight);
  return [Math.min(first, count), Math.min(Math.max(Math.floor((listTop + viewHeight) / rowHeight), first), count)];
}

/** Returns the scroll position nearest to the current one at which a row is fully visible, with `margin` rows beyond it. */
export function scrollTopFor(scroll: ScrollState, index: number, margin = 0): number {
  const { count, rowHeight, viewHeight, top } = scroll;
  const scale = scrollRatio(scroll);
  const marginHeight = Math.min(margin * rowHeight, Math.max((viewHeight - rowHeight) / 2, 0));
  const highest = (index + 1) * rowHeight - viewHeight + marginHeight;
  const lowest = index * rowHeight - marginHeight;
  const target = Math.min(Math.max(top * scale, highest), lowest);
  return target === top * scale ? top : Math.min(Math.max(target, 0), Math.max(count * rowHeight - viewHeight, 0)) / scale;
}
