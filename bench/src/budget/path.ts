/** Work of the service whose cost per item has a budget. */
export interface Path {
  /** Its name in `budget.json`. */
  name: string;
  /** Number of items in a round. */
  items: number;
  /** Prepares a round; its cost is not counted. */
  prepare?: () => Promise<void>;
  /** Runs one round: each has the same batches of equal items. */
  run: () => Promise<void>;
}
