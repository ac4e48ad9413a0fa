/** The statuses of a mailbox's items, beside CANCELED. `DEAD`: rejected, or claimed too often. */
export const mailboxStatuses = ["UNREAD", "CLAIMED", "ACKNOWLEDGED", "EXPIRED", "DEAD"] as const;

export type MailboxStatus = (typeof mailboxStatuses)[number];

export const eventStatuses = [
  "QUEUED",
  "RETRYING",
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  ...mailboxStatuses,
] as const;

export type EventStatus = (typeof eventStatuses)[number];

export function isMailboxStatus(status: EventStatus | undefined): status is MailboxStatus {
  return mailboxStatuses.some((known) => known === status);
}

/** Statuses that events keep: a set of what still waits would change while it is replayed. */
export const replayableStatuses = [
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "ACKNOWLEDGED",
  "DEAD",
] as const satisfies readonly EventStatus[];
