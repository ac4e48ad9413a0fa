/** What the numbers mean that `events.kind` and the SQL functions have for a target's kind. */
export const kindNames = { 1: "webhook", 2: "mailbox", 3: "a2a" } as const;

export type KindNumber = keyof typeof kindNames;
