import { useState } from "react";
import { Problem } from "../api/problem.ts";
import type { Target } from "../api/shapes.ts";
import { differing } from "../controls/differing.ts";
import { toast } from "../controls/toasts.ts";
import { headersChange, headersOf, headersProblem } from "./headersDraft.ts";
import { changedSettings, type Draft, draftOf, problemOf, toChanges } from "./settingsDraft.ts";
import type { SettingName } from "./settingTexts.ts";
import { useTargetChange } from "./useTargetChange.ts";

export type SettingsField = (name: SettingName) => {
  value: string;
  error: string | undefined;
  onChange: (event: { target: { value: string } }) => void;
};

export type SettingsForm = ReturnType<typeof useSettingsForm>;

/**
 * The form of a target's settings: the texts, the error of each, and a function that saves the difference. Changes by other
 * users are shown once nothing is unsaved here. Text that is typed during a save stays, unsaved.
 */
export function useSettingsForm(target: Target) {
  const [base, setBase] = useState(target);
  const [draft, setDraft] = useState<Draft>(() => draftOf(target));
  const [headers, setHeaders] = useState(() => headersOf(target));
  const change = useTargetChange(target.id);
  const changedHeaders = headersChange(base, headers);
  const hasChanges = changedSettings(base, draft).length > 0 || changedHeaders.headers !== undefined;
  const show = (current: Target): void => {
    setBase(current);
    setDraft(draftOf(current));
    setHeaders(headersOf(current));
  };
  if (target !== base && !hasChanges) show(target);
  const wrong = problemOf(base, draft);
  const wrongHeaders = headersProblem(headers);
  const errorOf = (name: SettingName): string | undefined => wrong[name] ?? refusalOf(change.error, name);
  const patch = (some: Draft): void => setDraft({ ...draft, ...some });
  const field: SettingsField = (name) => ({
    value: draft[name] ?? "",
    error: errorOf(name),
    onChange: (event) => patch({ [name]: event.target.value }),
  });
  const canSave = hasChanges && wrongHeaders === undefined && Object.keys(wrong).length === 0;
  return {
    draft,
    patch,
    field,
    errorOf,
    headers: {
      headers,
      error: wrongHeaders ?? refusalOf(change.error, "headers"),
      onChange: setHeaders,
    },
    filter: {
      value: draft.filter ?? "",
      error: errorOf("filter"),
      onChange: (filter: string) => patch({ filter }),
    },
    change,
    hasChanges,
    canSave,
    save: (): void => {
      if (!canSave) return;
      change.mutate(
        { ...toChanges(base, draft), ...changedHeaders },
        {
          onSuccess: (saved) => {
            setBase(saved);
            setDraft((now) => ({ ...draftOf(saved), ...differing(now, draft) }));
            setHeaders((now) => (now === headers ? headersOf(saved) : now));
            toast({ text: "Saved." });
          },
        },
      );
    },
  };
}

function refusalOf(error: unknown, name: string): string | undefined {
  if (!(error instanceof Problem) || (error.status !== 400 && error.code !== "uid_taken")) return undefined;
  return error.message.replace(/^body\//, "").startsWith(name) ? error.message : undefined;
}
