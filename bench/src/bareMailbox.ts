import { randomBytes } from "node:crypto";
import { createBareApp, serveBare } from "./bareApp.ts";

/*
 * The ceiling of mailboxes: the same Fastify parses the same bodies and sends answers of the same form and size, without
 * storage. Prints its port.
 */
const app = createBareApp((body) => JSON.parse(body.toString("utf8")));
const id = randomBytes(16).toString("hex");
const payload = JSON.stringify({ event_type: "order.created", data: "x".repeat(440) });
const message = `{"id":"${id}","mailbox_id":"${id}","status":"CLAIMED","event_type":"order.created","correlation_id":null,"ordering_key":null,"claimed_by":"${id}","claim_expires_at":1790000000,"claim_count":1,"created_at":1790000000,"expires_at":1790000000,"acknowledged_at":null,"dead_reason":null,"claim_token":"${id}","payload":${payload}}`;
app.post("/api/v1/mailboxes/:id/claim", (_request, reply) =>
  reply
    .type("application/json; charset=utf-8")
    .send(`{"messages":[${message}],"remaining":{"ready":1000,"claimed":64}}`),
);
app.post("/api/v1/mailbox-messages/:id/ack", (_request, reply) =>
  reply.type("application/json; charset=utf-8").send(`{"id":"${id}","status":"ACKNOWLEDGED"}`),
);
await serveBare(app);
