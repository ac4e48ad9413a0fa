/** What is stored when everything has healed, from the database, the interface and the agent. */
export interface Facts {
  items: readonly StoredItem[];
  attempts: readonly StoredAttempts[];
  publications: readonly { id: string; itemIds: readonly string[] }[];
  /** What the ledger counts, folded or not. */
  chargedItems: number;
  left: Leftovers;
  handoffs: readonly Handoff[];
}

export interface StoredItem {
  id: string;
  targetId: string;
  /** The number that its sender gave it. */
  number: number;
  /** False for what a replay made. */
  isBillable: boolean;
  sourceId: string | null;
  publicationId: string | null;
  /** As the interface says it; null when the interface does not list it. */
  status: string | null;
}

/** The attempts of one item on record. */
export interface StoredAttempts {
  itemId: string;
  numbers: readonly number[];
  delivered: number;
}

/** What must be nothing. */
export interface Leftovers {
  waiting: number;
  leased: number;
  messages: number;
  polls: number;
  runningReplays: number;
}

export interface Handoff {
  itemId: string;
  /** Messages about it that reached the agent, each of which makes a task there. */
  messages: number;
  /** The service says that there may be two. */
  isPossibleDuplicate: boolean;
}

/** Statuses beyond which nothing happens by itself. */
export const endStatuses: ReadonlySet<string> = new Set([
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "ACKNOWLEDGED",
  "EXPIRED",
  "DEAD",
]);
