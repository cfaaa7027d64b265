/**
 * Selects the lines to list; empty fields select everything.
 *
 * `chips` are keys of choices, `first` … `last` are lines of the whole log (both inclusive), `folded` lines whose nested lines are not listed.
 * `order` lists the lines with the most tokens, or the longest calls, first.
 */
export interface TraceFilter {
  readonly text: string;
  readonly chips: readonly string[];
  readonly first: number | null;
  readonly last: number | null;
  readonly folded: readonly number[];
  readonly order: '' | 'tokens' | 'duration';
}

export const NO_FILTER: TraceFilter = { text: '', chips: [], first: null, last: null, folded: [], order: '' };

/** Whether the filter excludes lines.  Lines that are only folded are not excluded. */
export function isFiltering({ text, chips, first, last }: TraceFilter): boolean {
  return text !== '' || chips.length > 0 || first !== null || last !== null;
}

export function listsEverything(filter: TraceFilter): boolean {
  return !isFiltering(filter) && filter.folded.length === 0 && filter.order === '';
}

export function sameFilter(a: TraceFilter, b: TraceFilter): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns the filter with the nested lines of a line folded, or unfolded if they were folded. */
export function toggleFold(filter: TraceFilter, line: number): TraceFilter {
  const rest = filter.folded.filter(foldedLine => foldedLine !== line);
  return { ...filter, folded: rest.length < filter.folded.length ? rest : [...rest, line] };
}

/** Returns the chips with one added, or removed if it was among them. */
export function toggleChip(chips: readonly string[], key: string): string[] {
  return chips.includes(key) ? chips.filter(chip => chip !== key) : [...chips, key];
}

/** Returns the chips with one as the only one of its facet; an empty `key` chooses none. */
export function chooseChip(chips: readonly string[], facet: string, key: string): string[] {
  return [...chips.filter(chip => !chip.startsWith(`${facet}:`)), ...(key ? [key] : [])];
}
