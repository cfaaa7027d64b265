import { chooseChip, type TraceFilter } from './filter.js';
import type { Chip, LogRows } from './log_rows.js';

/** The lines in which a search has found its text, in order, of the `indexed` percent of the log that were searched. */
export interface Hits {
  readonly lines: Uint32Array;
  readonly indexed: number;
}

/** Choices whose lines do not follow from the rows, such as those of the review; each has its lines in order. */
export interface AddedFacet {
  readonly name: string;
  readonly label: string;
  readonly menu: boolean;
  readonly choices: readonly (Omit<Choice, 'count'> & { readonly lines: ArrayLike<number> })[];
}

/** A value to filter by: `count` lines have it and match the filter's other facets. */
export interface Choice {
  readonly key: string;
  readonly label: string;
  readonly title: string;
  readonly count: number;
}

/** Choices of one kind, of which a line must have a chosen one; `menu`: in a menu instead of chips. */
export interface OfferedFacet {
  readonly name: string;
  readonly label: string;
  readonly menu: boolean;
  readonly choices: readonly Choice[];
}

/** What a log can be filtered by: `hits` are those of the filter's text, null without one. */
export interface Filterable {
  readonly rows: LogRows;
  readonly facets: readonly AddedFacet[];
  readonly hits: Hits | null;
}

/** The facets that follow from the rows.  The filter bar has the labels of their menus. */
const FACETS = [
  { name: 'kind', label: '', menu: false },
  { name: 'end', label: '', menu: false },
  { name: 'tool', label: '', menu: true },
  { name: 'path', label: '', menu: true }
];
/** Most tools and files that are offered: those with the most lines. */
const MAX_CHOICES = 200;
const EXCLUDED = 255;

/** The lines that a filter lists, in their order, `calls` of which are calls. */
export class Listing {
  readonly calls: number;

  constructor(
    private readonly rows: LogRows,
    readonly lines: Uint32Array,
    /** Whether the lines are in the order of the log. */
    private readonly isOrdered: boolean
  ) {
    const { calls } = rows;
    this.calls = lines.reduce((sum, line) => sum + calls[line]!, 0);
  }

  /** Returns the index of a line, or of the nearest one that is listed; −1 if none is.  Where lines are in another order, 0 stands for one that is not listed. */
  indexOf(line: number): number {
    return Math.min(this.isOrdered ? lowerBound(this.lines, line) : Math.max(this.lines.indexOf(line), 0), this.lines.length - 1);
  }

  /** Returns the index of the listed line under which one is nested; null if there is none. */
  parent(index: number): number | null {
    const { depths } = this.rows;
    const depth = depths[this.lines[index] ?? 0] ?? 0;
    for (let above = index - 1; above >= 0; above--) {
      if (depths[this.lines[above]!]! < depth) {
        return above;
      }
    }
    return null;
  }

  /** Returns how many of these lines, which are in order, are listed. */
  count(lines: Iterable<number>): number {
    let count = 0;
    for (const line of lines) {
      count += Number(this.isOrdered ? this.lines[lowerBound(this.lines, line)] === line : this.lines.includes(line));
    }
    return count;
  }
}

/** Returns the lines under a filter. */
export function listing(log: Filterable, filter: TraceFilter): Listing {
  const { rows } = log;
  const conditions = conditionsOf(log, filter, '');
  const met = matching(rows.total, filter, conditions);
  hideFolded(met, rows.below, filter.folded);
  let size = 0;
  const lines = new Uint32Array(rows.total);
  for (let line = 0; line < met.length; line++) {
    if (met[line] === conditions.length) {
      lines[size++] = line;
    }
  }
  const listed = lines.slice(0, size);
  return new Listing(rows, filter.order ? sorted(listed, rows.amounts(filter.order)) : listed, !filter.order);
}

/** Returns all choices, each with the number of its lines that match the other facets of the filter. */
export function offeredFacets(log: Filterable, filter: TraceFilter): readonly OfferedFacet[] {
  const { rows, facets } = log;
  const masks = new Map<string, (line: number) => boolean>();
  const maskOf = (except: string) => {
    const conditions = conditionsOf(log, filter, except);
    const met = matching(rows.total, filter, conditions);
    return (line: number) => met[line] === conditions.length;
  };
  const isOther = (facet: string) => {
    const except = filter.chips.some(chip => facetOf(chip) === facet) ? facet : '';
    masks.has(except) || masks.set(except, maskOf(except));
    return masks.get(except)!;
  };
  const count = (lines: ArrayLike<number>, has: (line: number) => boolean) => {
    let found = 0;
    for (let i = 0; i < lines.length; i++) {
      found += Number(has(lines[i]!));
    }
    return found;
  };
  const own = FACETS.map(facet => ({
    ...facet,
    choices: rows.offered(facet.name, facet.menu ? MAX_CHOICES : null).map(chip => ({ ...chip, lines: rows.linesOf(chip.key) }))
  }));
  const chosen = (name: string, offered: readonly { readonly key: string }[]) =>
    filter.chips
      .filter(chip => facetOf(chip) === name && !offered.some(({ key }) => key === chip))
      .map(key => ({ ...chipOf(rows, key), lines: rows.linesOf(key) }));
  return [...own, ...facets].map(({ name, label, menu, choices }) => ({
    name,
    label,
    menu,
    choices: [...choices, ...chosen(name, choices)].map(({ key, label, title, lines }) => ({
      key,
      label,
      title,
      count: count(lines, isOther(name))
    }))
  }));
}

/** The chips of all steps that failed; the first are those that count as failed calls. */
const FAILURES = ['end:failed', 'end:errors', 'end:other failures'];

/** Returns the next failed line that the filter lists after `from`, or with −1 the last one before it; null if there is none. */
export function nextFailure(log: Filterable, filter: TraceFilter, from: number, direction: 1 | -1): number | null {
  const { lines } = listing(log, { ...filter, order: '', chips: [...chooseChip(filter.chips, 'end', ''), ...FAILURES] });
  return lines[direction > 0 ? lowerBound(lines, from + 1) : lowerBound(lines, from) - 1] ?? null;
}

/** Returns the chips that belong to no facet of the log, and the names of its facets. */
export function unknownChips({ facets }: Filterable, chips: readonly string[]): readonly [string[], string[]] {
  const names = [...FACETS, ...facets].map(({ name }) => name);
  return [chips.filter(chip => !names.includes(facetOf(chip))), names];
}

/** Returns the index of the first of sorted numbers that is not smaller than `value`. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let first = 0;
  for (let end = sorted.length; first < end;) {
    const middle = (first + end) >> 1;
    if (sorted[middle]! < value) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

function facetOf(chip: string): string {
  return chip.slice(0, chip.indexOf(':'));
}

function chipOf({ chips }: LogRows, key: string): Omit<Chip, 'facet'> {
  return chips.find(chip => chip.key === key) ?? { key, label: key.slice(key.indexOf(':') + 1), title: '' };
}

/** Returns for each condition of a filter the lists of lines of which one must have a line.  The chips of the facet `except` are left out. */
function conditionsOf({ rows, facets, hits }: Filterable, { chips, text }: TraceFilter, except: string): ArrayLike<number>[][] {
  const names = [...new Set(chips.map(facetOf))].filter(name => name !== except);
  const added = new Map(facets.flatMap(({ choices }) => choices.map(({ key, lines }) => [key, lines])));
  const conditions = names.map(name => chips.filter(chip => facetOf(chip) === name).map(chip => added.get(chip) ?? rows.linesOf(chip)));
  return text ? [...conditions, [hits?.lines ?? []]] : conditions;
}

/** Returns how many of the conditions each line meets, one after the other: a line matches if it meets all of them. */
function matching(total: number, { first, last }: TraceFilter, conditions: readonly ArrayLike<number>[][]): Uint8Array {
  const met = new Uint8Array(total);
  conditions.forEach((lists, earlier) => {
    for (const lines of lists) {
      for (let i = 0; i < lines.length; i++) {
        if (met[lines[i]!] === earlier) {
          met[lines[i]!] = earlier + 1;
        }
      }
    }
  });
  first === null || met.fill(EXCLUDED, 0, first);
  last === null || met.fill(EXCLUDED, last + 1);
  return met;
}

function hideFolded(met: Uint8Array, below: Uint32Array, folded: readonly number[]): void {
  for (const line of folded) {
    met.fill(EXCLUDED, line + 1, line + 1 + (below[line] ?? 0));
  }
}

/** Returns lines with the largest amounts first, else in their order; those with an unknown amount come last. */
function sorted(lines: Uint32Array, amounts: Float64Array): Uint32Array {
  const known = lines.filter(line => !Number.isNaN(amounts[line]));
  const unknown = lines.filter(line => Number.isNaN(amounts[line]));
  // A sort without a function that compares takes a tenth of the time.
  const keys = new Float64Array(known.length).map((_, i) => -amounts[known[i]!]!).sort();
  const used = new Uint32Array(known.length);
  const all = new Uint32Array(lines.length);
  for (const line of known) {
    const at = lowerBound(keys, -amounts[line]!);
    all[at + used[at]!++] = line;
  }
  all.set(unknown, known.length);
  return all;
}
