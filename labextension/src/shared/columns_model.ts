// Generated from nbtools/traces/columns.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from './parse.js';

/** A column, which begins ``at`` this byte of the buffer.

``u8`` … ``f64``: one value for each row; a NaN is unknown. ``text``: the byte offset of each row's text and of the end, as u32, then the texts in UTF-8. ``word``: an index into ``words`` for each row, as u32. ``list``: the index of each row's first value and the number of all values, then the values, all as u32. */
export interface ColumnPart {
  readonly name: string;
  readonly kind: 'u8' | 'u16' | 'u32' | 'f64' | 'text' | 'word' | 'list';
  readonly at: number;
  readonly words: readonly string[];
}
export const parseColumnPart: parse.Parser<ColumnPart> = parse.record<ColumnPart>({
  name: parse.text,
  kind: parse.oneOf('u8', 'u16', 'u32', 'f64', 'text', 'word', 'list'),
  at: parse.number,
  words: parse.otherwise(parse.list(parse.text), []),
});

/** ``count`` rows; the buffer that comes with it has their columns. */
export interface ColumnBlock {
  readonly count: number;
  readonly columns: readonly ColumnPart[];
}
export const parseColumnBlock: parse.Parser<ColumnBlock> = parse.record<ColumnBlock>({
  count: parse.number,
  columns: parse.list(parseColumnPart),
});
