/**
 * The API key that signing up gave, kept in this page's memory alone until it is left: the first steps show it within
 * their snippets.
 */
let firstKey: string | undefined;

export function keepFirstKey(key: string): void {
  firstKey = key;
}

export function keptFirstKey(): string | undefined {
  return firstKey;
}
