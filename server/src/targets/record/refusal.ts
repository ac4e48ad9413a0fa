/** Why a target cannot be made, read, changed or removed as asked. `message` is a sentence for the caller. */
export type TargetRefusal =
  | { kind: "invalid"; message: string }
  /** The organization has no such target. */
  | { kind: "gone" }
  | { kind: "too_many"; message: string }
  | { kind: "uid_taken" }
  /** The caller is limited, and this is beyond its scope. */
  | { kind: "out_of_scope"; message: string }
  /** The target would move to another origin, for which its secret headers were not given. */
  | { kind: "headers_needed"; origin: string }
  /** A credential would go to an origin that its owner has not named. */
  | { kind: "origin_unconfirmed"; origin: string }
  /** The target is enabled, so that it holds nothing that could be discarded. */
  | { kind: "holds_nothing" }
  /** More waits than one request discards; `items` are canceled. */
  | { kind: "discard_unfinished"; items: number }
  | { kind: "revealing_is_off" };

export interface Refused {
  ok: false;
  refusal: TargetRefusal;
}

/** A refusal of what the caller gave. */
export function invalid(message: string): Refused {
  return { ok: false, refusal: { kind: "invalid", message } };
}

export const gone: Refused = { ok: false, refusal: { kind: "gone" } };
