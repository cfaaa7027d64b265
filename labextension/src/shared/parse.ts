/** Validates an unknown JSON value and returns it with its type.  Throws `ParseError` if the value does not have the expected shape. */
export type Parser<T> = (value: unknown) => T;

export class ParseError extends Error {}

function check<T>(valid: boolean, value: unknown): T {
  if (!valid) {
    throw new ParseError();
  }
  return value as T;
}

export const text: Parser<string> = value => check(typeof value === 'string', value);
export const number: Parser<number> = value => check(typeof value === 'number', value);
export const flag: Parser<boolean> = value => check(typeof value === 'boolean', value);
/** The result of a method that returns nothing. */
export const nothing: Parser<undefined> = () => undefined;

export const pair: Parser<readonly [string, string]> = value =>
  check(Array.isArray(value) && value.length === 2 && value.every(part => typeof part === 'string'), value);

/*#__NO_SIDE_EFFECTS__*/
export function oneOf<const T extends readonly string[]>(...values: T): Parser<T[number]> {
  return value => check(values.includes(value as string), value);
}

/*#__NO_SIDE_EFFECTS__*/
export function list<T>(item: Parser<T>): Parser<readonly T[]> {
  return value => check<unknown[]>(Array.isArray(value), value).map(item);
}

/** Parses a value or null.  A kernel in the browser (Pyodide) sends undefined for None. */
/*#__NO_SIDE_EFFECTS__*/
export function nullable<T>(item: Parser<T>): Parser<T | null> {
  return value => (value === null || value === undefined ? null : item(value));
}

/** Parses an optional field; a missing one, as older versions send, becomes `fallback`. */
/*#__NO_SIDE_EFFECTS__*/
export function otherwise<T>(item: Parser<T>, fallback: T): Parser<T> {
  return value => (value === undefined ? fallback : item(value));
}

/** Parses an object.  Fields not listed are dropped, so that newer versions can add fields. */
/*#__NO_SIDE_EFFECTS__*/
export function record<T extends object>(fields: { [K in keyof T]: Parser<T[K]> }): Parser<T> {
  const entries = Object.entries(fields) as [string, Parser<unknown>][];
  return value => {
    const source = check<Record<string, unknown>>(typeof value === 'object' && value !== null, value);
    return Object.fromEntries(entries.map(([name, parse]) => [name, parse(source[name])])) as T;
  };
}

/** Parses one of several object types, selected by the field `type`. */
/*#__NO_SIDE_EFFECTS__*/
export function tagged<T>(parsers: Readonly<Record<string, Parser<T>>>): Parser<T> {
  const parserOf = new Map(Object.entries(parsers));
  return value => {
    const { type } = check<{ type?: unknown }>(typeof value === 'object' && value !== null, value);
    const parse = parserOf.get(type as string);
    return parse ? parse(value) : check(false, value);
  };
}

/** Returns the parsed value, or null if it is invalid. */
export function tryParse<T>(parser: Parser<T>, value: unknown): T | null {
  try {
    return parser(value);
  } catch (error) {
    if (error instanceof ParseError) {
      return null;
    }
    throw error;
  }
}
