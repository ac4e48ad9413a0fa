/** State after healing, as read from the database, the interface and the agent. */
export interface Facts {
  items: readonly StoredItem[];
  attempts: readonly StoredAttempts[];
  publications: readonly { id: string; itemIds: readonly string[] }[];
  /** Number of items in the usage ledger, folded or not. */
  chargedItems: number;
  left: Leftovers;
  handoffs: readonly Handoff[];
  /** Descriptions of the secrets that a service has logged. */
  loggedSecrets: readonly string[];
}

export interface StoredItem {
  id: string;
  targetId: string;
  /** Number given by the item's sender. */
  number: number;
  /** False for events created by a replay. */
  isBillable: boolean;
  sourceId: string | null;
  publicationId: string | null;
  /** Status as the interface shows it; null when the interface does not list the item. */
  status: string | null;
}

/** Recorded attempts of one item. */
export interface StoredAttempts {
  itemId: string;
  numbers: readonly number[];
  delivered: number;
}

/** Counts of unfinished work; all must become 0. */
export type Leftovers = StoredLeftovers & Partial<NodeLeftovers>;

/** Unfinished work in tables of the data plane. */
export interface StoredLeftovers {
  waiting: number;
  leased: number;
  messages: number;
  polls: number;
  runningReplays: number;
}

/** Unfinished work on the nodes of a Citus cluster. */
export interface NodeLeftovers {
  preparedTransactions: number;
  /** Entries in Citus' list of resources to clean up. */
  cleanups: number;
  /** Tables of a cell that are on another node than Citus' metadata says. */
  strayTables: number;
  /** Replication slots, subscriptions and publications left by moves. */
  replication: number;
  /** Copies of reference tables that differ from the coordinator's. */
  differingCopies: number;
}

export interface Handoff {
  itemId: string;
  /** Number of messages about the item that reached the agent; each message creates a task there. */
  messages: number;
  /** Whether the service marks the handoff as a possible duplicate. */
  isPossibleDuplicate: boolean;
}

/** Statuses that change only on request. */
export const endStatuses: ReadonlySet<string> = new Set([
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "ACKNOWLEDGED",
  "EXPIRED",
  "DEAD",
]);
