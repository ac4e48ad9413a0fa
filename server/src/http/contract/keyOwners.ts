/**
 * Whose API keys are, for sharing what this process has among organizations. Nothing is allowed by it: what a key may
 * do is checked in the transaction that does it.
 */
export interface KeyOwners {
  /** The organization of a key that was valid a minute or two ago at most; undefined for one that has to be looked up. */
  known(key: string): string | undefined;
  /**
   * The organization of a key by the database as it is now; undefined for one that is unknown or revoked.
   * @throws {QueueFullError} when too many wait, or the database's error.
   */
  find(key: string): Promise<string | undefined>;
}
