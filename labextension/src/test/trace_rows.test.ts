import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { NO_FILTER } from '../explorer/filter.js';
import { listing, offeredFacets } from '../explorer/listing.js';
import { LogRows, type Chip } from '../explorer/log_rows.js';
import { readColumns } from '../shared/columns.js';
import type { ColumnBlock } from '../shared/columns_model.js';
import { bytesOf } from '../shared/inflate.js';

interface Reply {
  readonly reply: { readonly total: number; readonly block: ColumnBlock; readonly chips: readonly Chip[] };
  readonly data: string;
  readonly expected: readonly Readonly<Record<string, string | number | null | readonly number[]>>[];
}

/** Replies of a kernel, written by tests/traces/explorer/row_fixture.py. */
const { rows, tokens } = JSON.parse(readFileSync(new URL('../../src/test/trace_rows.json', import.meta.url), 'utf-8')) as Readonly<
  Record<'rows' | 'tokens', Reply>
>;
const columnsOf = ({ reply, data }: Reply) => readColumns(reply.block, bytesOf(data)!)!;

test('the page reads the values that the kernel has written', () => {
  for (const reply of [rows, tokens]) {
    const columns = columnsOf(reply);
    assert.equal(columns.count, reply.expected.length);
    for (const { name, kind } of reply.reply.block.columns) {
      const read = reply.expected.map((_, row) => {
        switch (kind) {
          case 'text':
            return columns.text(name, row);
          case 'word':
            return columns.word(name, row);
          case 'list':
            return [...columns.list(name, row)];
          default:
            return Number.isNaN(columns.number(name)[row]) ? null : columns.number(name)[row];
        }
      });
      assert.deepEqual(
        read,
        reply.expected.map(row => row[name]),
        name
      );
    }
  }
});

test('the rows of a log are those that the kernel lists, with its choices', () => {
  const { total, chips } = rows.reply;
  const log = { rows: LogRows.empty(total).with(0, columnsOf(rows), chips, 0).withTokens(columnsOf(tokens)), facets: [], hits: null };
  rows.expected.forEach(({ number, subject, icon, depth, flags }, line) => {
    const row = log.rows.row(line)!;
    assert.deepEqual([row.number, row.subject, row.icon, row.depth], [number, subject, icon, depth]);
    assert.deepEqual([row.call, row.live], [((flags as number) & 1) !== 0, ((flags as number) & 2) !== 0]);
  });
  const used = chips.filter((_, id) => rows.expected.some(row => (row['chips'] as number[]).includes(id)));
  const offered = offeredFacets(log, NO_FILTER).flatMap(({ choices }) => choices.map(({ key }) => key));
  assert.deepEqual(offered.sort(), used.map(({ key }) => key).sort());
  assert.equal(listing(log, NO_FILTER).calls, rows.expected.filter(row => (row['flags'] as number) & 1).length);
});
