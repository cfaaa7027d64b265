import type { Row, Span } from './model.js';

/** One line of a unified diff.  `old` and `new` are line numbers, null on the side that does not have the line. */
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

/** Converts side-by-side rows to unified lines: in each run of changes, removed lines come before added ones. */
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
