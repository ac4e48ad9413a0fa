/** State after everything has healed, as read from the database, the interface and the agent. */
export interface Facts {
  items: readonly StoredItem[];
  attempts: readonly StoredAttempts[];
  publications: readonly { id: string; itemIds: readonly string[] }[];
  /** Items in the usage ledger, folded or not. */
  chargedItems: number;
  left: Leftovers;
  handoffs: readonly Handoff[];
  /** Secrets that a service has logged, in words. */
  loggedSecrets: readonly string[];
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

/** Counts of work that has not ended; all must become 0. */
export type Leftovers = StoredLeftovers & Partial<NodeLeftovers>;

/** In tables of the data plane. */
export interface StoredLeftovers {
  waiting: number;
  leased: number;
  messages: number;
  polls: number;
  runningReplays: number;
}

/** On the nodes of a Citus cluster. */
export interface NodeLeftovers {
  preparedTransactions: number;
  /** Entries in Citus' list of resources to remove. */
  cleanups: number;
  /** Tables of a cell that are not on the node where Citus says that they are. */
  strayTables: number;
  /** Slots, subscriptions and publications of moves. */
  replication: number;
  /** Copies of reference tables that differ from the coordinator's. */
  differingCopies: number;
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
