const customer = {
  uid: "shop-7",
  id: "019a4b6c7d8e7f0011223344556677b3",
  name: "Shop GmbH",
  metadata: { plan: "gold" },
  created_at: 1_793_500_000,
  updated_at: 1_793_500_000,
};

const portalSettings = {
  name: "Shop GmbH",
  logo: "https://shop.example.com/logo.svg",
  colour: "#0b6e4f",
  origins: ["https://app.example.com"],
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

const listedEventType = {
  name: "order.paid",
  id: "019a4b6c7d8e7f0011223344556677b4",
  description: "An order was paid in full.",
  group: "Orders",
  deprecated: false,
  created_at: 1_793_500_000,
  updated_at: 1_793_500_000,
};

const orderPaid = {
  description: "An order was paid in full.",
  group: "Orders",
  schema: {
    type: "object",
    properties: { event_type: { const: "order.paid" }, order: { type: "integer" } },
    required: ["order"],
  },
  example: { event_type: "order.paid", order: 1001 },
};

const openApiDocument = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1.0.0" },
  webhooks: {
    "order.paid": {
      post: {
        description: "An order was paid in full.",
        tags: ["Orders"],
        requestBody: {
          content: {
            "application/json": {
              schema: { type: "object", properties: { order: { type: "integer" } } },
              example: { order: 1001 },
            },
          },
        },
      },
    },
  },
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
  listEventTypes: { answer: { event_types: [listedEventType] } },
  putEventType: {
    request: { "What is sent of an order": orderPaid },
    answer: { ...listedEventType, schema: orderPaid.schema, example: orderPaid.example },
  },
  readEventType: { answer: { ...listedEventType, schema: orderPaid.schema, example: orderPaid.example } },
  deleteEventType: { answer: { deleted: true, naming_targets: 2 } },
  importEventTypes: {
    request: { "A document with one webhook": openApiDocument },
    answer: {
      dry_run: false,
      created: ["order.paid"],
      updated: [],
      unchanged: ["order.created"],
      refused: [{ name: "order.*", reason: "name must be 1 to 256 printable ASCII characters without *" }],
    },
  },
  createPortalLink: {
    answer: {
      url: `https://postrider.example.com/portal/019a4b6c7d8e7f0011223344556677ab#code=plc_${"0123456789abcdef".repeat(4)}`,
      expires_at: 1_793_503_600,
    },
  },
  endPortalSessions: { answer: { ended_sessions: 1, ended_links: 0 } },
  openPortalSession: {
    request: { "The code of a link": { code: `plc_${"0123456789abcdef".repeat(4)}` } },
    answer: { session_token: `pse_${"0123456789abcdef".repeat(4)}`, expires_at: 1_793_543_200 },
  },
  readPortal: {
    answer: {
      organization: {
        id: "019a4b6c7d8e7f0011223344556677ab",
        name: portalSettings.name,
        logo: portalSettings.logo,
        colour: portalSettings.colour,
      },
      customer: { uid: "shop-7", name: "Corner Shop" },
      expires_at: 1_793_543_200,
    },
  },
  readPortalSettings: { answer: portalSettings },
  savePortalSettings: { request: { "A name, a logo and a colour": portalSettings }, answer: portalSettings },
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
