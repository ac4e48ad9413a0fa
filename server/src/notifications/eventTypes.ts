/** Events of the service itself, as the `event_type` of an item. */
export const operationalEventTypes = [
  "target.disabled",
  "target.recovered",
  "event.failed",
  "mailbox.message_dead",
  "handoff.input_required",
] as const;

export type OperationalEventType = (typeof operationalEventTypes)[number];
