/** A value of a form-encoded request: `a[b]=1&c[0]=x` is `{a: {b: "1"}, c: {0: "x"}}`. */
export interface FormValues {
  [name: string]: string | FormValues | undefined;
}

/** Parses the form encoding that the processor's interface uses in bodies and queries. */
export function parseForm(text: string): FormValues {
  const root: FormValues = {};
  for (const [key, value] of new URLSearchParams(text)) {
    const names = key.split(/[[\]]+/).filter(Boolean);
    const last = names.pop()!;
    let at = root;
    for (const name of names) {
      const next = at[name];
      at = typeof next === "object" ? next : (at[name] = {});
    }
    at[last] = value;
  }
  return root;
}

/** The text under a name; undefined when there is none. */
export function textOf(values: FormValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

/** The object under a name; empty when there is none. */
export function objectOf(values: FormValues, name: string): FormValues {
  const value = values[name];
  return typeof value === "object" ? value : {};
}
