/** The statuses of a mailbox's items, except CANCELED and FILTERED. `DEAD`: rejected, or claimed too often. */
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

/** Final statuses by which events can be replayed. A set of waiting events would change during the replay. */
export const replayableStatuses = [
  "DELIVERED",
  "FAILED",
  "FILTERED",
  "CANCELED",
  "ACKNOWLEDGED",
  "DEAD",
] as const satisfies readonly EventStatus[];
