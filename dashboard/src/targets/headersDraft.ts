import type { Target, TargetChanges } from "../api/shapes.ts";

/** One header in the form. */
export interface HeaderDraft {
  /** Identifies the row while its name changes. */
  key: number;
  name: string;
  value: string;
  isSecret: boolean;
}

/** The service's placeholder for a secret value; sending it back keeps the value. */
export const keptValue = "***";
export const mostHeaders = 20;

export function headersOf({ headers = {} }: Target): readonly HeaderDraft[] {
  return Object.entries(headers).map(([name, value], key) =>
    typeof value === "string"
      ? { key, name, value, isSecret: true }
      : { key, name, value: value.value, isSecret: value.secret },
  );
}

/** An empty header for a new row. */
export function newHeader(headers: readonly HeaderDraft[]): HeaderDraft {
  return { key: Math.max(-1, ...headers.map(({ key }) => key)) + 1, name: "", value: "", isSecret: true };
}

/** The first error of the headers as a sentence, checked before the request; undefined if there is none. */
export function headersProblem(headers: readonly HeaderDraft[]): string | undefined {
  if (headers.some(({ name }) => name.trim() === "")) return "Each header needs a name";
  const emptied = headers.find(({ value, isSecret }) => isSecret && value === "");
  if (emptied !== undefined) return `${emptied.name.trim()} needs a value`;
  const names = headers.map(({ name }) => name.trim().toLowerCase());
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? undefined : `${twice} is listed twice`;
}

/** The headers as part of a request body; empty if they have not changed. */
export function headersChange(
  target: Target,
  headers: readonly HeaderDraft[],
): Pick<TargetChanges, "headers"> {
  const given = (list: readonly HeaderDraft[]) =>
    Object.fromEntries(
      list.map(({ name, value, isSecret }) => [name.trim(), isSecret ? value : { value, secret: false }]),
    );
  const next = given(headers);
  return JSON.stringify(next) === JSON.stringify(given(headersOf(target))) ? {} : { headers: next };
}
