import { readColumns, type Columns } from '../shared/columns.js';
import type { Result } from '../shared/channel.js';

/** A sample of an evaluation: `number` is its place in the log, from 0; NaN is not known. */
export interface SampleRow {
  readonly number: number;
  readonly id: string;
  readonly epoch: number;
  readonly input: string;
  readonly target: string;
  readonly answer: string;
  readonly outcome: string;
  readonly error: string;
  readonly limit: string;
  readonly tokens: number;
  readonly scorerTokens: number;
  readonly seconds: number;
  /** The first line of its session. */
  readonly line: number;
  /** The score of each scorer as text, and as what it is sorted by. */
  readonly scores: readonly string[];
  readonly values: readonly number[];
}

export interface SampleFilter {
  /** `incorrect` or `errors`; empty for all. */
  readonly only: '' | 'incorrect' | 'errors';
  readonly text: string;
  /** The key of a column; empty for the order of the log. */
  readonly sort: string;
  readonly descending: boolean;
}

const TEXTS = ['id', 'input', 'target', 'answer', 'error'] as const;
/** As people count: sample 10 comes after sample 9. */
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** Returns the samples of a reply; none if it is damaged. */
export function sampleRows({ block, buffers, scorers }: Result<'trace.samples'>): SampleRow[] {
  const columns = buffers[0] ? readColumns(block, buffers[0]) : null;
  return columns ? Array.from({ length: columns.count }, (_, number) => rowAt(columns, number, scorers.length)) : [];
}

function rowAt(columns: Columns, number: number, scorers: number): SampleRow {
  const [id, input, target, answer, error] = TEXTS.map(name => columns.text(name, number)) as [string, string, string, string, string];
  const value = (name: string) => columns.number(name)[number]!;
  const each = Array.from({ length: scorers }, (_, i) => i);
  return {
    number,
    id,
    input,
    target,
    answer,
    error,
    outcome: columns.word('outcome', number),
    limit: columns.word('limit', number),
    epoch: value('epoch'),
    tokens: value('tokens'),
    scorerTokens: value('scorer_tokens'),
    seconds: value('seconds'),
    line: value('line'),
    scores: each.map(i => columns.text(`score${i}`, number)),
    values: each.map(i => value(`value${i}`))
  };
}

export function isIncorrect({ outcome }: SampleRow): boolean {
  return outcome.includes('incorrect');
}

export function hasError({ error, outcome }: SampleRow): boolean {
  return error !== '' || outcome === 'error';
}

/** Returns the numbers of the samples under a filter, in its order. */
export function listedSamples(rows: readonly SampleRow[], { only, text, sort, descending }: SampleFilter): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isWanted = { '': () => true, incorrect: isIncorrect, errors: hasError }[only];
  const listed = rows.filter(row => isWanted(row) && hasWords(row, words));
  return sort ? sorted(listed, sort, descending) : listed.map(({ number }) => number);
}

function hasWords(row: SampleRow, words: readonly string[]): boolean {
  if (!words.length) {
    return true;
  }
  const { id, input, target, answer, outcome, error, limit, scores } = row;
  const text = [id, input, target, answer, outcome, error, limit, ...scores].join('\n').toLowerCase();
  return words.every(word => text.includes(word));
}

/** Sorts by a column; unknown values come last. */
function sorted(rows: readonly SampleRow[], sort: string, descending: boolean): number[] {
  const direction = descending ? -1 : 1;
  const valued = rows.map(row => {
    const value = sortValue(row, sort);
    return { number: row.number, value, rank: typeof value === 'number' ? (Number.isNaN(value) ? 2 : 0) : value ? 1 : 2 };
  });
  valued.sort((a, b) => a.rank - b.rank || direction * compared(a.value, b.value) || a.number - b.number);
  return valued.map(({ number }) => number);
}

function compared(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') {
    return a - b || 0;
  }
  return collator.compare(String(a), String(b));
}

/** Returns a number where the column has one: of a score, its number, else its text. */
function sortValue(row: SampleRow, sort: string): string | number {
  const scorer = /^score(\d+)$/.exec(sort)?.[1];
  if (scorer !== undefined) {
    const value = row.values[Number(scorer)] ?? NaN;
    return Number.isNaN(value) ? (row.scores[Number(scorer)] ?? '') : value;
  }
  const value: unknown = row[sort as keyof SampleRow];
  return typeof value === 'number' || typeof value === 'string' ? value : '';
}
