/** Work of the service whose cost per item has a budget. */
export interface Path {
  /** Its name in `budget.json`. */
  name: string;
  /** How many items a round has. */
  items: number;
  /** Makes what a round needs; not counted. */
  prepare?: () => Promise<void>;
  /** One round: always the same batches of the same items. */
  run: () => Promise<void>;
}
