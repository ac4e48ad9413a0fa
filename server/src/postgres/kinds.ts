/**
 * The kinds of targets, and their numbers in `events.kind` and `deliveries.kind`. The SQL functions about kinds are generated
 * from this file (`sql/kinds.generated.sql`). The number of a kind never changes, and is never reused.
 */
export const kindNumbers = { webhook: 1, mailbox: 2, a2a: 3 } as const;

/** The kinds whose items consumers claim. Items of the other kinds are delivered. */
export const pulledKinds = [kindNumbers.mailbox] as const;

/**
 * The kinds whose items become tasks of an agent, which are followed to their end. Such targets get no items that the service
 * creates (operational events, results of tasks), so that two agents cannot trigger each other endlessly.
 */
export const handoffKinds = [kindNumbers.a2a] as const;

export type TargetKind = keyof typeof kindNumbers;
export type KindNumber = (typeof kindNumbers)[TargetKind];
export type PulledKind = (typeof pulledKinds)[number];
export type DeliveredKind = Exclude<KindNumber, PulledKind>;

export const targetKinds = Object.keys(kindNumbers) as TargetKind[];

const names = Object.fromEntries(targetKinds.map((name) => [kindNumbers[name], name])) as Record<
  KindNumber,
  TargetKind
>;

export function kindName(kind: KindNumber): TargetKind {
  return names[kind];
}

/** Whether a kind is one of {@link pulledKinds}. */
export function isPulled(kind: number): kind is PulledKind {
  return (pulledKinds as readonly number[]).includes(kind);
}

/** Whether a kind is one of {@link handoffKinds}. */
export function isHandoff(kind: number): kind is (typeof handoffKinds)[number] {
  return (handoffKinds as readonly number[]).includes(kind);
}

/** The status in the answer to an accepted item. */
export function acceptedStatus(kind: KindNumber): "UNREAD" | "QUEUED" {
  return isPulled(kind) ? "UNREAD" : "QUEUED";
}
