/** Proofs that unknown JSON has a shape; fields that are not named may be anything, so that a newer sender may add some. */
export type Guard<T> = (value: unknown) => value is T;

export const text = (value: unknown): value is string => typeof value === 'string';
export const number = (value: unknown): value is number => typeof value === 'number';
export const flag = (value: unknown): value is boolean => typeof value === 'boolean';
export const nothing = (value: unknown): value is null => value === null;

export const pair = (value: unknown): value is readonly [string, string] =>
  Array.isArray(value) && value.length === 2 && text(value[0]) && text(value[1]);

export function oneOf<const T extends readonly string[]>(...values: T): Guard<T[number]> {
  return (value): value is T[number] => text(value) && values.includes(value);
}

export function list<T>(item: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(item);
}

export function either<T extends readonly Guard<unknown>[]>(
  ...guards: T
): Guard<T[number] extends Guard<infer U> ? U : never> {
  return (value): value is never => guards.some(guard => guard(value));
}

export function record<T extends object>(fields: { [K in keyof T]: Guard<T[K]> }): Guard<T> {
  const entries = Object.entries(fields) as [string, Guard<unknown>][];
  return (value): value is T =>
    typeof value === 'object' &&
    value !== null &&
    entries.every(([name, guard]) => guard((value as Record<string, unknown>)[name]));
}
