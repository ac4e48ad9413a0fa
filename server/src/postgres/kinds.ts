/** The numbers that `events.kind`, `deliveries.kind` and the SQL functions have for the kinds of targets, see `sql/kinds.sql`. */
export const kindNumbers = { webhook: 1, mailbox: 2, a2a: 3 } as const;

export type TargetKind = keyof typeof kindNumbers;
export type KindNumber = (typeof kindNumbers)[TargetKind];
/** The kinds whose items consumers claim. Items of the others are delivered. */
export type PulledKind = (typeof kindNumbers)["mailbox"];
export type DeliveredKind = Exclude<KindNumber, PulledKind>;

export const targetKinds = Object.keys(kindNumbers) as TargetKind[];

const names = Object.fromEntries(targetKinds.map((name) => [kindNumbers[name], name])) as Record<
  KindNumber,
  TargetKind
>;

export function kindName(kind: KindNumber): TargetKind {
  return names[kind];
}

/** Whether consumers claim the items of this kind. */
export function isPulled(kind: number): kind is PulledKind {
  return kind === kindNumbers.mailbox;
}

/**
 * Whether an item of this kind becomes a task of an agent, which is followed to its end. Such targets get no items that the
 * service makes (operational events, results of tasks), so that no two agents keep each other busy.
 */
export function isHandoff(kind: number): kind is (typeof kindNumbers)["a2a"] {
  return kind === kindNumbers.a2a;
}

/** The status in the answer to an accepted item. */
export function acceptedStatus(kind: KindNumber): "UNREAD" | "QUEUED" {
  return isPulled(kind) ? "UNREAD" : "QUEUED";
}
