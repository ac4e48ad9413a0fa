const order = {
  type: "object",
  properties: {
    lines: { type: "array", items: { $ref: "#/components/schemas/Line" } },
    parent: { $ref: "#/components/schemas/Order" },
  },
};
/** A document with webhooks of every kind: some become event types, the last five cannot. */
export const shopDocument = {
  openapi: "3.1.0",
  info: { title: "Shop", version: "1" },
  webhooks: {
    "order.paid": {
      post: {
        summary: "Paid",
        description: "An order was paid.",
        tags: ["Orders", "Money"],
        deprecated: true,
        requestBody: { $ref: "#/components/requestBodies/Order" },
      },
    },
    "order.sent": { $ref: "#/components/pathItems/Sent" },
    ping: { summary: "Is anybody there?" },
    "order.*": { post: {} },
    broken: {
      post: {
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/None" } } } },
      },
    },
    away: {
      post: { requestBody: { content: { "application/json": { schema: { $ref: "other.json" } } } } },
    },
    circle: { $ref: "#/webhooks/circle" },
    wrong: { post: { requestBody: { content: { "application/json": { schema: { type: "text" } } } } } },
  },
  components: {
    requestBodies: {
      Order: {
        content: {
          "text/plain": { schema: { type: "string" } },
          "application/json; charset=utf-8": {
            schema: { $ref: "#/components/schemas/Order" },
            examples: { first: { $ref: "#/components/examples/Paid" } },
          },
        },
      },
    },
    pathItems: {
      Sent: {
        post: {
          requestBody: {
            content: {
              "application/cloudevents+json": {
                schema: { allOf: [{ $ref: "#/components/schemas/Order" }], example: { sent: 1 } },
              },
            },
          },
        },
      },
    },
    examples: { Paid: { value: { lines: [] } } },
    schemas: {
      Order: order,
      Line: { type: "object", properties: { order: { $ref: "#/components/schemas/Order" } } },
    },
  },
};
