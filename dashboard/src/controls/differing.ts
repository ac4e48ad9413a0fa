/** The fields whose values differ from those in `others`. */
export function differing<T extends object>(fields: T, others: Partial<T>): Partial<T> {
  const entries = Object.entries(fields).filter(([name, value]) => value !== others[name as keyof T]);
  return Object.fromEntries(entries) as Partial<T>;
}
