import { createBareApp, serveBare } from "./bareApp.ts";

/*
 * The ceiling of intake: the same Fastify parses the same body and sends an answer of the same size, without storage.
 * Prints its port.
 */
const app = createBareApp((body) => JSON.parse(body.toString("utf8")));
const id = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";
app.post("/t/:target_id", (_request, reply) =>
  reply.code(202).type("application/json; charset=utf-8").send(`{"id":"${id}","status":"QUEUED"}`),
);
await serveBare(app);
