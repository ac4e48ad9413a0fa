import type { Target, TargetChanges } from "../api/shapes.ts";
import { eventTypesOf } from "./eventTypesText.ts";

export type SettingName = keyof TargetChanges;

/** One setting of a target as a text of the form. */
export interface Setting {
  name: SettingName;
  read: (target: Target) => string;
  /** The error of the text as a sentence, checked before the request; undefined for a valid text. */
  fault: (text: string) => string | undefined;
  /** The request field for a valid text. */
  write: (text: string) => TargetChanges;
}

interface SettingInput<Name extends SettingName> {
  read: (target: Target) => string;
  fault?: (text: string) => string | undefined;
  write: (text: string) => TargetChanges[Name];
}

export function setting<Name extends SettingName>(
  name: Name,
  { read, fault = () => undefined, write }: SettingInput<Name>,
): Setting {
  return { name, read, fault, write: (text) => ({ [name]: write(text) }) };
}

/** An optional number. If it is empty, the service's default applies. */
export function optionalNumber(
  name: "rate_limit_per_second" | "rate_limit_burst" | "max_concurrency" | "max_claims",
  fault: (text: string) => string | undefined,
): Setting {
  return setting(name, {
    read: ({ [name]: value }) => (value === null || value === undefined ? "" : String(value)),
    fault: (text) => (text === "" ? undefined : fault(text)),
    write: (text) => (text === "" ? null : Number(text)),
  });
}

/** Returns a check that a text is a whole number in this range. */
export function notWhole(low: number, high: number, orNothing = ", or nothing") {
  return (text: string): string | undefined =>
    /^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high
      ? undefined
      : `A whole number from ${low} to ${high}${orNothing}`;
}

export const urlSetting = setting("url", {
  read: ({ url = "" }) => url,
  write: (text) => text.trim(),
});

export const eventTypesSetting = setting("event_types", {
  read: ({ event_types: types = [] }) => types.join(", "),
  write: eventTypesOf,
});

/** Retries and the owner's limits: the settings of every kind whose items are sent. */
export const deliverySettings: readonly Setting[] = [
  setting("max_retries", {
    read: ({ max_retries: retries = 8 }) => String(retries),
    fault: notWhole(0, 50, ""),
    write: Number,
  }),
  setting("retry_interval_seconds", {
    read: ({ retry_interval_seconds: seconds = 30 }) => String(seconds),
    fault: notWhole(1, 86_400, ""),
    write: Number,
  }),
  optionalNumber("rate_limit_per_second", (rate) =>
    /^\d{0,5}(\.\d{1,3})?$/.test(rate) && Number(rate) >= 0.001 && Number(rate) <= 10_000
      ? undefined
      : "A number from 0.001 to 10000, or nothing",
  ),
  optionalNumber("rate_limit_burst", notWhole(1, 10_000)),
  optionalNumber("max_concurrency", notWhole(1, 256)),
];
