const publication = {
  id: "019a4b6c7d8e7f0011223344556677b0",
  customer_uid: "shop-7",
  event_type: "order.created",
  correlation_id: null,
  item_count: 1,
  created_at: 1_793_500_000,
};

const itemId = "019a4b6c7d8e7f0011223344556677ad";
const targetId = "019a4b6c7d8e7f0011223344556677ac";

/** Examples of publications, by operation. */
export const examples = {
  publish: {
    request: { "An order": { event_type: "order.created", order: { id: 1001, total_cents: 4200 } } },
    answer: { id: publication.id, items: [{ id: itemId, target_id: targetId, status: "QUEUED" }] },
  },
  listPublications: { answer: { publications: [publication] } },
  readPublication: {
    answer: {
      publication: {
        ...publication,
        items: [
          {
            id: itemId,
            endpoint_id: targetId,
            event_type: "order.created",
            status: "DELIVERED",
            created_at: 1_793_500_000,
            updated_at: 1_793_500_001,
            attempts: 1,
            last_status_code: 200,
            next_attempt_at: null,
            duration_ms: 48,
            latest_replay: null,
          },
        ],
      },
    },
  },
  replayPublication: {
    request: {
      "To those that failed": { to: "failed" },
      "To targets that were added since": { to: "added" },
    },
    answer: {
      items: [
        {
          id: "019a4b6c7d8e7f0011223344556677b1",
          target_id: targetId,
          status: "QUEUED",
          source_event_id: itemId,
        },
      ],
      skipped: [],
    },
  },
};
