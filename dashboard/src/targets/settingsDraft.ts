import type { Target, TargetChanges } from "../api/shapes.ts";
import { isUid, uidRule } from "../customers/customerQueries.ts";
import { metadataOf, metadataProblem, metadataText } from "../customers/metadataText.ts";
import { filterProblem } from "./filterText.ts";
import { kindOf } from "./kinds/kinds.ts";
import { type Setting, setting, type SettingName } from "./settingTexts.ts";

/** A target's settings, as texts of the form. */
export type Draft = Readonly<Partial<Record<SettingName, string>>>;

/** The settings of every kind. */
const commonSettings: readonly Setting[] = [
  setting("name", { read: ({ name }) => name, write: (text) => text.trim() }),
  setting("description", { read: ({ description }) => description, write: (text) => text }),
  uidSetting("customer_uid"),
  uidSetting("uid"),
  objectSetting("metadata", metadataProblem),
  objectSetting("filter", filterProblem),
];

function uidSetting(name: "customer_uid" | "uid"): Setting {
  return setting(name, {
    read: (target) => target[name] ?? "",
    fault: (text) => (text === "" || isUid(text) ? undefined : uidRule),
    write: (text) => (text === "" ? null : text),
  });
}

function objectSetting(name: "metadata" | "filter", fault: (text: string) => string | undefined): Setting {
  return setting(name, {
    read: (target) => metadataText(target[name]),
    fault: (text) => fault(text),
    write: (text) => (text.trim() === "" ? null : metadataOf(text)),
  });
}

function settingsOf(target: Target): readonly Setting[] {
  return [...commonSettings, ...kindOf(target).settings];
}

export function draftOf(target: Target): Draft {
  return Object.fromEntries(settingsOf(target).map(({ name, read }) => [name, read(target)]));
}

/** The errors of the texts by field, checked before the request. */
export function problemOf(target: Target, draft: Draft): Draft {
  const faults = settingsOf(target).map(({ name, fault }) => [name, fault(draft[name] ?? "")] as const);
  return Object.fromEntries(faults.filter(([, fault]) => fault !== undefined));
}

/** The settings whose texts differ from the target. */
export function changedSettings(target: Target, draft: Draft): readonly Setting[] {
  return settingsOf(target).filter(({ name, read }) => (draft[name] ?? "") !== read(target));
}

/** The request body for the changed settings of a valid draft. */
export function toChanges(target: Target, draft: Draft): TargetChanges {
  const changes = changedSettings(target, draft).map(({ name, write }) => write(draft[name] ?? ""));
  return Object.assign({}, ...changes) as TargetChanges;
}
