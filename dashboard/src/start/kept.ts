import { keepForSession, keptForSession } from "../api/session.ts";

/** Values of the first steps that cannot be read again. They survive a reload, and end with the session. */
export interface Kept {
  /** The API key from sign-up, or the key that was created for the snippets. */
  apiKey?: string;
  /** Signing secrets of targets that were created here, by the target's id, until the user has saved them. */
  secrets?: Record<string, { of: string; secret: string }>;
}

export function kept(): Kept {
  return keptForSession("start") ?? {};
}

/** Stores these values; `undefined` removes a value. */
export function keep(changes: { [name in keyof Kept]: Kept[name] | undefined }): void {
  keepForSession("start", { ...kept(), ...changes });
}
