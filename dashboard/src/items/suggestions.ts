import type { Target } from "../api/shapes.ts";
import { isUid } from "../customers/customerQueries.ts";
import { type FilterKey, filterKeys, spanNames } from "./filter.ts";
import { statuses } from "./statuses.ts";

/** One suggestion under the filter: its text, and what choosing it does. */
export interface Suggestion {
  text: string;
  detail?: string;
  /** The chip that the suggestion adds; without one, its text goes into the input to be completed. */
  chip?: { key: FilterKey; value: string };
  /** Opens a dialog that asks for the value. */
  asks?: "time";
}

const details: Record<FilterKey, string> = {
  status: "its status",
  target: "its target",
  customer: "its customer, by uid",
  type: "its event type",
  correlation: "its correlation id",
  replay: "the replay job that created it",
  time: "when it was accepted",
};

/** Suggestions for the typed text: keys, or values of a key. */
export function suggestions(text: string, targets: readonly Target[]): Suggestion[] {
  const [head = "", ...rest] = text.split(":");
  const key = filterKeys.find((name) => name === head.trim().toLowerCase());
  if (key === undefined || rest.length === 0) {
    return filterKeys
      .filter((name) => name.startsWith(head.trim().toLowerCase()))
      .map((name) => ({ text: `${name}:`, detail: details[name] }));
  }
  const value = rest.join(":").trim();
  switch (key) {
    case "status":
      return among(key, statuses, value);
    case "time":
      return [...among(key, spanNames, value), { text: "time:between…", asks: "time" }];
    case "customer":
      return isUid(value) ? [{ text: `${key}:${value}`, chip: { key, value } }] : [];
    case "target":
      return targets
        .filter(({ id, name }) => `${name} ${id}`.toLowerCase().includes(value.toLowerCase()))
        .slice(0, 12)
        .map(({ id, name, kind }) => ({
          text: `target:${name}`,
          detail: `${kind} ${id.slice(0, 8)}…`,
          chip: { key, value: id },
        }));
    case "type":
    case "correlation":
    case "replay":
      return value === "" ? [] : [{ text: `${key}:${value}`, chip: { key, value } }];
  }
}

function among(key: FilterKey, values: readonly string[], typed: string): Suggestion[] {
  return values
    .filter((value) => value.toLowerCase().includes(typed.toLowerCase()))
    .map((value) => ({ text: `${key}:${value}`, chip: { key, value } }));
}
