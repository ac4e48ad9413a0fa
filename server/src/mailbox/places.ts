/** How far each mailbox's ready messages have been claimed, as far as one node knows. */
export interface Places {
  /** A position before which the mailbox has no ready message; 0 when that is not known. */
  of(mailboxId: string): number;
  /** A claim has walked the mailbox up to `position`; 0 forgets. */
  note(mailboxId: string, position: number): void;
}

/** Walks from the very first message are this seldom: they find what was committed late, and stay cheap. */
const wholeWalkIntervalMs = 100;
const maxMailboxes = 10_000;

/** The places of one node, by the monotonic clock `nowMs`. */
export function createPlaces(nowMs: () => number): Places {
  const places = new Map<string, { position: number; goodUntilMs: number }>();
  return {
    of(mailboxId) {
      const place = places.get(mailboxId);
      if (place === undefined) return 0;
      if (nowMs() < place.goodUntilMs) return place.position;
      places.delete(mailboxId);
      return 0;
    },
    note(mailboxId, position) {
      const place = places.get(mailboxId);
      if (position === 0) places.delete(mailboxId);
      else if (place !== undefined) place.position = Math.max(place.position, position);
      else if (places.size < maxMailboxes) {
        places.set(mailboxId, { position, goodUntilMs: nowMs() + wholeWalkIntervalMs });
      } else places.clear();
    },
  };
}
