import fastify from "fastify";

/*
 * The ceiling of intake: the same Fastify, the same body parsed, an answer of the same size, and no storage.
 * Prints its port.
 */
const app = fastify({ logger: false });
app.removeAllContentTypeParsers();
app.addContentTypeParser(
  "application/json",
  { parseAs: "buffer" },
  async (_request: unknown, body: Buffer) => JSON.parse(body.toString("utf8")) as unknown,
);
const id = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";
app.post("/t/:target_id", (_request, reply) =>
  reply.code(202).type("application/json; charset=utf-8").send(`{"id":"${id}","status":"QUEUED"}`),
);
await app.listen({ port: 0, host: "127.0.0.1" });
const address = app.server.address();
process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
process.once("SIGTERM", () => void app.close());
