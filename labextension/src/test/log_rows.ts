import { readColumns, type Columns } from '../shared/columns.js';
import type { Chip } from '../explorer/log_rows.js';
import { encode } from './columns.js';

/** A row of a test; what it lacks is empty. */
export interface TestRow {
  readonly line?: number;
  readonly number?: string;
  readonly subject?: string;
  readonly icon?: string;
  readonly name?: string;
  readonly right?: string;
  readonly tone?: string;
  readonly depth?: number;
  readonly below?: number;
  readonly flags?: number;
  readonly added?: number;
  readonly seconds?: number;
  readonly chips?: readonly number[];
}

/** Returns rows as the columns that the kernel sends. */
export function columnsOf(rows: readonly TestRow[]): Columns {
  return readColumns(
    ...encode(rows.length, {
      line: ['u32', rows.map((row, i) => row.line ?? i)],
      number: ['text', rows.map((row, i) => row.number ?? String(i + 1))],
      subject: ['text', rows.map(row => row.subject ?? '')],
      icon: ['word', rows.map(row => row.icon ?? '')],
      name: ['word', rows.map(row => row.name ?? '')],
      right: ['word', rows.map(row => row.right ?? '')],
      tone: ['word', rows.map(row => row.tone ?? 'done')],
      depth: ['u16', rows.map(row => row.depth ?? 0)],
      below: ['u32', rows.map(row => row.below ?? 0)],
      flags: ['u8', rows.map(row => row.flags ?? 3)],
      added: ['u32', rows.map(row => row.added ?? 0)],
      seconds: ['f64', rows.map(row => row.seconds ?? NaN)],
      chips: ['list', rows.map(row => row.chips ?? [])]
    })
  )!;
}

/** Returns chips by their keys, as in `kind:shell`. */
export function chipsOf(...keys: string[]): Chip[] {
  return keys.map(key => {
    const [facet = '', label = ''] = key.split(':');
    return { facet, key, label, title: '' };
  });
}
