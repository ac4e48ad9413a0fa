import type { ItemSink } from "../../src/intake/dispatchAccepted.ts";
import type { Changes } from "../../src/items/changes.ts";

/** For parts that run without the event stream. */
export const noChanges: Changes = {
  isWatched: () => false,
  isTargetWatched: () => false,
  publish: () => undefined,
  publishTarget: () => undefined,
};

/** Ignores accepted items, which wait in the database. */
export const idleSink: ItemSink = {
  dispatcher: {
    hasRoom: () => false,
    roomForPublications: () => 0,
    fullTargets: () => [],
    newLease: () => ({ token: 1, durationMs: 1_000 }),
    take: () => undefined,
    onDue: () => undefined,
  },
  onMailboxItems: () => undefined,
  changes: noChanges,
  onRefused: () => undefined,
  onKeyUsed: () => undefined,
};
