/**
 * The payload of a row `e` of `events`, as SQL: its own, or that of its publication, which is stored once for all of its
 * items. Empty once it was erased.
 */
export const storedPayload =
  "case when e.publication_id is null then e.payload else publication_payload(e.publication_id) end";
