import { randomBytes } from "node:crypto";
import fastify from "fastify";
import { newId } from "../../server/src/postgres/ids.ts";
import { sign } from "../../server/src/items/signature.ts";
import { parseNetworks } from "../../server/src/outbound/addressGuard.ts";
import { createOutbound } from "../../server/src/outbound/outbound.ts";

/*
 * The ceiling of in and out: one process that takes items in with the same Fastify and posts each, signed, with
 * the same client, from memory. Argument: the receiver's URL. Prints its port; `GET /counts` says what it did.
 */
const [url = ""] = process.argv.slice(2);
const concurrency = 32;
const maxQueued = 10_000;
const outbound = createOutbound({
  allowHttp: true,
  networks: parseNetworks("127.0.0.0/8"),
  userAgent: "bench",
});
const key = randomBytes(32);
let queue: { id: string; body: Buffer }[] = [];
let head = 0;
let inFlight = 0;
let accepted = 0;
let delivered = 0;

function pump(): void {
  while (inFlight < concurrency && head < queue.length) {
    const item = queue[head++]!;
    if (head > 1_024) {
      queue = queue.slice(head);
      head = 0;
    }
    inFlight++;
    void send(item);
  }
}

async function send(item: { id: string; body: Buffer }): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  await outbound.request({
    method: "POST",
    url,
    headers: [
      "content-type",
      "application/json",
      "webhook-id",
      item.id,
      "webhook-timestamp",
      String(timestamp),
      "webhook-signature",
      sign([key], item.id, timestamp, item.body),
    ],
    body: item.body,
  });
  inFlight--;
  delivered++;
  pump();
}

const app = fastify({ logger: false });
app.removeAllContentTypeParsers();
app.addContentTypeParser(
  "application/json",
  { parseAs: "buffer" },
  async (_request: unknown, body: Buffer) => body,
);
app.post("/t/:target_id", (request, reply) => {
  const body = request.body as Buffer;
  JSON.parse(body.toString("utf8"));
  const id = newId(1, Date.now());
  accepted++;
  if (queue.length - head < maxQueued) queue.push({ id, body });
  pump();
  return reply.code(202).type("application/json; charset=utf-8").send(`{"id":"${id}","status":"QUEUED"}`);
});
app.get("/counts", () => ({ accepted, delivered }));
await app.listen({ port: 0, host: "127.0.0.1" });
const address = app.server.address();
process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
process.once("SIGTERM", () => {
  outbound.close();
  void app.close();
});
