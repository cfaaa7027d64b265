/** Proves that unknown JSON has a shape and gives it that type; throws `Mismatch` where it has not. */
export type Parser<T> = (value: unknown) => T;

export class Mismatch extends Error {}

function fits<T>(fit: boolean, value: unknown): T {
  if (!fit) {
    throw new Mismatch();
  }
  return value as T;
}

export const text: Parser<string> = value => fits(typeof value === 'string', value);
export const number: Parser<number> = value => fits(typeof value === 'number', value);
export const flag: Parser<boolean> = value => fits(typeof value === 'boolean', value);

export const pair: Parser<readonly [string, string]> = value =>
  fits(Array.isArray(value) && value.length === 2 && value.every(part => typeof part === 'string'), value);

export function oneOf<const T extends readonly string[]>(...values: T): Parser<T[number]> {
  return value => fits(values.includes(value as string), value);
}

export function list<T>(item: Parser<T>): Parser<readonly T[]> {
  return value => fits<unknown[]>(Array.isArray(value), value).map(item);
}

export function nullable<T>(item: Parser<T>): Parser<T | null> {
  return value => (value === null ? null : item(value));
}

/** A field that an older sender did not know. */
export function otherwise<T>(item: Parser<T>, fallback: T): Parser<T> {
  return value => (value === undefined ? fallback : item(value));
}

/** Fields that are not named are left out, so that a newer sender may add some. */
export function record<T extends object>(fields: { [K in keyof T]: Parser<T[K]> }): Parser<T> {
  const entries = Object.entries(fields) as [string, Parser<unknown>][];
  return value => {
    const source = fits<Record<string, unknown>>(typeof value === 'object' && value !== null, value);
    return Object.fromEntries(entries.map(([name, parse]) => [name, parse(source[name])])) as T;
  };
}

/** One of several records, told apart by their `type`. */
export function tagged<T>(parsers: Readonly<Record<string, Parser<T>>>): Parser<T> {
  const known = new Map(Object.entries(parsers));
  return value => {
    const { type } = fits<{ type?: unknown }>(typeof value === 'object' && value !== null, value);
    const parse = known.get(type as string);
    return parse ? parse(value) : fits(false, value);
  };
}

/** Null where the value does not fit. */
export function attempt<T>(parser: Parser<T>, value: unknown): T | null {
  try {
    return parser(value);
  } catch (error) {
    if (error instanceof Mismatch) {
      return null;
    }
    throw error;
  }
}
