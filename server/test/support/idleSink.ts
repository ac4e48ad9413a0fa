import type { ItemSink } from "../../src/intake/dispatchAccepted.ts";
import type { Changes } from "../../src/items/changes.ts";

/** For parts that run without a stream. */
export const noChanges: Changes = {
  isWatched: () => false,
  isTargetWatched: () => false,
  publish: () => undefined,
  publishTarget: () => undefined,
};

/** Does nothing with what was accepted, which waits in the database. */
export const idleSink: ItemSink = {
  dispatcher: {
    hasRoom: () => false,
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
