import type { TraceFilter } from './wire.js';

export const EVERYTHING: TraceFilter = { text: '', kind: '', tool: '', path: '', first: null, last: null, folded: [] };

/** Whether lines are left out for what they are; what is only folded away counts as listed. */
export function leavesOut({ text, kind, tool, path, first, last }: TraceFilter): boolean {
  return [text, kind, tool, path].some(part => part !== '') || first !== null || last !== null;
}

export function listsAll(filter: TraceFilter): boolean {
  return !leavesOut(filter) && filter.folded.length === 0;
}

export function sameFilter(one: TraceFilter, other: TraceFilter): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The same filter with a line's nested lines folded away, or shown where they were. */
export function fold(filter: TraceFilter, line: number): TraceFilter {
  const rest = filter.folded.filter(other => other !== line);
  return { ...filter, folded: rest.length < filter.folded.length ? rest : [...rest, line] };
}
