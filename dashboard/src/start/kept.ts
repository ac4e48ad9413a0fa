import { keepForSession, keptForSession } from "../api/session.ts";

/** Values of the first steps that cannot be read again. They survive a reload and end with signing out. */
interface Kept {
  /** The API key that signing up gave, or that was made for the snippets. */
  apiKey?: string;
  /** The signing secret of a target that was made here, until it was saved. */
  secret?: { targetId: string; value: string };
}

export function kept(): Kept {
  return keptForSession("start") ?? {};
}

/** Keeps these parts; `undefined` takes a part out. */
export function keep(changes: { [name in keyof Kept]: Kept[name] | undefined }): void {
  keepForSession("start", { ...kept(), ...changes });
}
