import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readColumns } from '../shared/columns.js';
import type { ColumnBlock, ColumnPart } from '../shared/columns_model.js';
import { encode } from './columns.js';

const [BLOCK, BUFFER] = encode(3, {
  small: ['u8', [1, 2, 255]],
  depth: ['u16', [0, 1, 65_535]],
  below: ['u32', [0, 7, 2 ** 32 - 1]],
  seconds: ['f64', [0.5, NaN, 1e9]],
  subject: ['text', ['a', '', 'bä→😀']],
  name: ['word', ['read', 'bash', 'read']],
  chips: ['list', [[], [3, 1], [2]]]
});

test('the columns of a block have the values that were encoded', () => {
  const columns = readColumns(BLOCK, BUFFER)!;
  assert.equal(columns.count, 3);
  assert.deepEqual([...columns.number('small')], [1, 2, 255]);
  assert.deepEqual([...columns.number('depth')], [0, 1, 65_535]);
  assert.deepEqual([...columns.number('below')], [0, 7, 2 ** 32 - 1]);
  assert.deepEqual([...columns.number('seconds')], [0.5, NaN, 1e9]);
  assert.deepEqual(
    [0, 1, 2].map(row => columns.text('subject', row)),
    ['a', '', 'bä→😀']
  );
  assert.deepEqual(
    [0, 1, 2].map(row => columns.word('name', row)),
    ['read', 'bash', 'read']
  );
  assert.deepEqual(
    [0, 1, 2].map(row => [...columns.list('chips', row)]),
    [[], [3, 1], [2]]
  );
});

test('a missing column, or one of another kind, has empty values', () => {
  const columns = readColumns(BLOCK, BUFFER)!;
  assert.deepEqual([...columns.number('none')], [0, 0, 0]);
  assert.deepEqual([columns.text('none', 1), columns.word('none', 1), [...columns.list('none', 1)]], ['', '', []]);
  assert.deepEqual([columns.text('chips', 1), columns.word('below', 1), [...columns.list('subject', 2)]], ['', '', []]);
});

test('the buffer may be part of another one, at any offset', () => {
  for (const offset of [0, 1, 8]) {
    const larger = new Uint8Array(BUFFER.byteLength + offset + 3);
    larger.set(new Uint8Array(BUFFER), offset);
    const columns = readColumns(BLOCK, new DataView(larger.buffer, offset, BUFFER.byteLength))!;
    assert.deepEqual([columns.text('subject', 2), columns.number('depth')[2]], ['bä→😀', 65_535]);
  }
});

test('text that is not UTF-8 is read with replacement characters', () => {
  const [block, buffer] = encode(1, { subject: ['text', ['abc']] });
  new Uint8Array(buffer)[9] = 0xff;
  assert.equal(readColumns(block, buffer)!.text('subject', 0), 'a\ufffdc');
});

test('a damaged or hostile block is no block', () => {
  const changed = (change: Partial<ColumnPart>, i: number): ColumnBlock => ({
    ...BLOCK,
    columns: BLOCK.columns.map((column, at) => (at === i ? { ...column, ...change } : column))
  });
  const counts = [-1, 1.5, NaN, Infinity, 4_000_000_000, 1000].map(count => ({ ...BLOCK, count }));
  const places = [-8, 3, 0.5, NaN, Infinity, 2 ** 53].flatMap(at => [1, 2, 3, 4, 5, 6].map(i => changed({ at }, i)));
  const dictionary = changed({ words: ['read'] }, 5);
  for (const block of [...counts, ...places, dictionary]) {
    assert.equal(readColumns(block, BUFFER), null);
  }
  assert.equal(readColumns({ count: 2 ** 31, columns: [] }, new ArrayBuffer(8)), null);
  assert.equal(readColumns(BLOCK, BUFFER.slice(0, BUFFER.byteLength - 8)), null);
  const starts = [
    ['subject', 3, 2 ** 31],
    ['subject', 2, 0], // before that of the row above
    ['chips', 3, 2 ** 31],
    ['chips', 1, 4_000_000_000]
  ] as const;
  for (const [name, i, start] of starts) {
    const buffer = BUFFER.slice(0);
    new Uint32Array(buffer)[BLOCK.columns.find(column => column.name === name)!.at / 4 + i] = start;
    assert.equal(readColumns(BLOCK, buffer), null, `${name} ${i} ${start}`);
  }
});
