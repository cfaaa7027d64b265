import type { Row, Span } from './wire.js';

/** One line of a unified diff; the number of a side that has no such line is null. */
export interface UnifiedLine {
  readonly sign: ' ' | '+' | '−';
  readonly old: number | null;
  readonly new: number | null;
  readonly spans: readonly Span[];
}

function removed(row: Row): UnifiedLine[] {
  return row.old ? [{ sign: '−', old: row.old.number, new: null, spans: row.old.spans }] : [];
}

function added(row: Row): UnifiedLine[] {
  return row.new ? [{ sign: '+', old: null, new: row.new.number, spans: row.new.spans }] : [];
}

/** Rows of two sides as one column: in each run of changes first what went, then what came. */
export function unify(rows: readonly Row[]): UnifiedLine[] {
  const lines: UnifiedLine[] = [];
  let run: Row[] = [];
  const close = () => {
    lines.push(...run.flatMap(removed), ...run.flatMap(added));
    run = [];
  };
  for (const row of rows) {
    if (row.old && row.new && !row.changed) {
      close();
      lines.push({ sign: ' ', old: row.old.number, new: row.new.number, spans: row.new.spans });
    } else {
      run.push(row);
    }
  }
  close();
  return lines;
}
