/** Why the creation, reading, change or deletion of a target is refused. `message` is a sentence for the caller. */
export type TargetRefusal =
  | { kind: "invalid"; message: string }
  /** The organization has no such target. */
  | { kind: "gone" }
  | { kind: "too_many"; message: string }
  | { kind: "uid_taken" }
  /** The caller has a limited credential, and the request is beyond its scope. */
  | { kind: "out_of_scope"; message: string }
  /** The target's URL would move to another origin, so its secret headers must be given again. */
  | { kind: "headers_needed"; origin: string }
  /** A credential would be sent to an origin that the owner has not confirmed. */
  | { kind: "origin_unconfirmed"; origin: string }
  /** The target is enabled, so that it holds no items that could be discarded. */
  | { kind: "holds_nothing" }
  /** More items wait than one request discards; so far, `items` of them were canceled. */
  | { kind: "discard_unfinished"; items: number }
  | { kind: "revealing_is_off" };

export interface Refused {
  ok: false;
  refusal: TargetRefusal;
}

/** A refusal because of the caller's input. */
export function invalid(message: string): Refused {
  return { ok: false, refusal: { kind: "invalid", message } };
}

export const gone: Refused = { ok: false, refusal: { kind: "gone" } };
