import type { Span } from '../cards/model.js';
import type { LogRow } from './log_rows.js';
import type { TraceOpened } from './model.js';

/** What a search looks at in a line of the list. */
export type SearchedLine = Pick<LogRow, 'name' | 'subject'>;

const BEFORE = 16;
const AFTER = 160;
/** Fields of a card that are no text of the step. */
const NO_TEXT = new Set(['type', 'id', 'state', 'icon', 'data', 'mime_type', 'tone', 'root']);

/** A word or a quoted text, which a step must contain, whatever the case. */
export type Term = RegExp;

/** Characters of a query that are looked at. */
const MAX_QUERY = 1000;

/** Returns the words and quoted texts of a query; none for an empty one. */
export function findTerms(query: string): readonly Term[] {
  const found = query.slice(0, MAX_QUERY).matchAll(/"([^"]+)"|(\S+)/g);
  return [...found].map(([, quoted, word]) => new RegExp((quoted ?? word)!.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), 'iu'));
}

/** Returns the text of a step in which a search looks: its line, and everything that its card shows. */
export function searchedText(line: SearchedLine, opened: TraceOpened): string {
  const parts = [line.name, line.subject];
  collect(opened.card.subject, parts);
  collect(opened.card.blocks, parts);
  return parts.join('\n');
}

function collect(value: unknown, parts: string[]): void {
  if (typeof value === 'string') {
    parts.push(value);
  } else if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    isSpans(items) ? parts.push(items.map(([text]) => text).join('')) : items.forEach(part => collect(part, parts));
  } else if (typeof value === 'object' && value !== null) {
    Object.entries(value).forEach(([name, part]) => NO_TEXT.has(name) || collect(part, parts));
  }
}

function isSpans(value: readonly unknown[]): value is readonly Span[] {
  return value.length > 0 && value.every(one => Array.isArray(one) && one.length === 2 && typeof one[0] === 'string');
}

/** Returns an excerpt around the first hit, with the hits marked; it is taken from the line if all terms occur there. */
export function snippetOf(line: SearchedLine, text: string, terms: readonly Term[]): Span[] {
  const searched = terms.every(term => term.test(line.subject)) ? line.subject : text;
  const at = terms[0]!.exec(searched)?.index ?? 0;
  const start = Math.max(0, at - BEFORE);
  const excerpt = (start ? '…' : '') + searched.slice(start, at + AFTER).replace(/\s+/g, ' ');
  const all = new RegExp(terms.map(term => term.source).join('|'), 'giu');
  const spans: Span[] = [];
  let end = 0;
  for (const hit of excerpt.matchAll(all)) {
    spans.push([excerpt.slice(end, hit.index), ''], [hit[0], 'hit']);
    end = hit.index + hit[0].length;
  }
  return [...spans, [excerpt.slice(end), ''] as const].filter(([part]) => part !== '');
}
