import { inflate } from '../shared/inflate.js';

/** Characters of JSON up to which blocks are unpacked, because a notebook is written by anybody. */
const MAX_JSON = 32_000_000;

/** Returns the JSON of a card with its blocks, which a notebook's file has compressed in the field `packed`; other values as they are. */
export async function unpackCard(value: unknown): Promise<unknown> {
  const { packed, ...fields } = (value ?? {}) as { packed?: unknown };
  return typeof packed === 'string' ? { ...fields, blocks: await inflate(packed, MAX_JSON) } : value;
}
