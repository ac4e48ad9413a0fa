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

const listed = {
  name: "order.paid",
  id: "019a4b6c7d8e7f0011223344556677b4",
  description: orderPaid.description,
  group: orderPaid.group,
  deprecated: false,
  created_at: 1_793_500_000,
  updated_at: 1_793_500_000,
};

const whole = { ...listed, schema: orderPaid.schema, example: orderPaid.example };

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

/** Examples of event types, by operation. */
export const examples = {
  listEventTypes: { answer: { event_types: [listed] } },
  putEventType: { request: { "What is sent of an order": orderPaid }, answer: whole },
  readEventType: { answer: whole },
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
};
