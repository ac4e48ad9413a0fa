const customer = {
  uid: "shop-7",
  id: "019a4b6c7d8e7f0011223344556677b3",
  name: "Shop GmbH",
  metadata: { plan: "gold" },
  created_at: 1_793_500_000,
  updated_at: 1_793_500_000,
};

const order = { event_type: "order.created", order: { id: 1001, total_cents: 4200 } };

const acceptedPublication = {
  id: "019a4b6c7d8e7f0011223344556677b0",
  items: [
    {
      id: "019a4b6c7d8e7f0011223344556677ad",
      target_id: "019a4b6c7d8e7f0011223344556677ac",
      status: "QUEUED",
    },
  ],
};

const publication = {
  id: "019a4b6c7d8e7f0011223344556677b0",
  customer_uid: "shop-7",
  event_type: "order.created",
  correlation_id: null,
  item_count: 1,
  created_at: 1_793_500_000,
};

/** Examples of customers and of what is published to them, by operation. */
export const customerExamples = {
  putCustomer: {
    request: { "A customer": { name: "Shop GmbH", metadata: { plan: "gold" } } },
    answer: customer,
  },
  readCustomer: { answer: customer },
  listCustomers: { answer: { customers: [customer] } },
  tryFilter: {
    request: {
      "An amount": {
        filter: { payload: { amount: [{ numeric: [">=", 100] }] } },
        payload: { amount: 80, currency: "EUR" },
      },
    },
    answer: {
      verdict: "differs",
      failed: [{ path: "payload.amount", expected: [{ numeric: [">=", 100] }], found: [80] }],
    },
  },
  deleteCustomer: { answer: { deleted: true, deleted_targets: 2 } },
  publishToCustomer: { request: { "An order": order }, answer: acceptedPublication },
  publish: { request: { "An order": order }, answer: acceptedPublication },
  listPublications: { answer: { publications: [publication] } },
  readPublication: {
    answer: {
      publication: {
        ...publication,
        items: acceptedPublication.items.map((item) => ({
          id: item.id,
          endpoint_id: item.target_id,
          event_type: "order.created",
          status: "DELIVERED",
          created_at: 1_793_500_000,
          updated_at: 1_793_500_001,
          attempts: 1,
          last_status_code: 200,
          next_attempt_at: null,
          duration_ms: 48,
          latest_replay: null,
        })),
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
          target_id: "019a4b6c7d8e7f0011223344556677ac",
          status: "QUEUED",
          source_event_id: "019a4b6c7d8e7f0011223344556677ad",
        },
      ],
      skipped: [],
    },
  },
};
