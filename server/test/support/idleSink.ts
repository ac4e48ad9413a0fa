import type { ItemSink } from "../../src/intake/dispatchAccepted.ts";
import { noChanges } from "../../src/items/changes.ts";

/** Does nothing with what was accepted, which waits in the database. */
export const idleSink: ItemSink = {
  hasRoom: () => false,
  fullTargets: () => [],
  newLease: () => ({ token: 1, durationMs: 1_000 }),
  take: () => undefined,
  onDue: () => undefined,
  onMailboxItems: () => undefined,
  changes: noChanges,
  onRefused: () => undefined,
  onKeyUsed: () => undefined,
};
