import type { TraceFilter } from './model.js';

export const NO_FILTER: TraceFilter = { text: '', kind: '', tool: '', path: '', first: null, last: null, folded: [] };

/** Whether the filter excludes lines.  Lines that are only folded are not excluded. */
export function isFiltering({ text, kind, tool, path, first, last }: TraceFilter): boolean {
  return [text, kind, tool, path].some(part => part !== '') || first !== null || last !== null;
}

export function listsEverything(filter: TraceFilter): boolean {
  return !isFiltering(filter) && filter.folded.length === 0;
}

export function sameFilter(a: TraceFilter, b: TraceFilter): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Returns the filter with the nested lines of a line folded, or unfolded if they were folded. */
export function toggleFold(filter: TraceFilter, line: number): TraceFilter {
  const rest = filter.folded.filter(foldedLine => foldedLine !== line);
  return { ...filter, folded: rest.length < filter.folded.length ? rest : [...rest, line] };
}
