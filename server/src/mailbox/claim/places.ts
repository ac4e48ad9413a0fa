/** Up to where each mailbox's ready messages have been claimed, as far as one node can be sure. */
export interface Places {
  /** A position before which the mailbox has no ready message; 0 when that is not known. */
  of(mailboxId: string): number;
  /** A claim has walked the mailbox up to `position`; 0 forgets. */
  note(mailboxId: string, position: number): void;
}

/**
 * A place counts once it is this old: a message gets its position before its transaction commits, and must not be
 * overtaken by later ones only because the commit takes a moment. As seldom, a walk goes from the very first
 * message, for commits that took even longer.
 */
const settlingMs = 2_000;
const maxMailboxes = 10_000;

interface Place {
  settled: number;
  latest: number;
  latestAtMs: number;
}

/** The places of one node, by the monotonic clock `nowMs`. */
export function createPlaces(nowMs: () => number): Places {
  const places = new Map<string, Place>();
  return {
    of(mailboxId) {
      const place = places.get(mailboxId);
      if (place === undefined) return 0;
      if (nowMs() - place.latestAtMs < settlingMs) return place.settled;
      // Walking from the first message now; the latest place is good for the next claims.
      place.settled = place.latest;
      place.latestAtMs = nowMs();
      return 0;
    },
    note(mailboxId, position) {
      const place = places.get(mailboxId);
      if (position === 0) places.delete(mailboxId);
      else if (place !== undefined) place.latest = Math.max(place.latest, position);
      else {
        if (places.size >= maxMailboxes) places.clear();
        places.set(mailboxId, { settled: 0, latest: position, latestAtMs: nowMs() });
      }
    },
  };
}
