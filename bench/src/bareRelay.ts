import { newId } from "../../server/src/postgres/ids.ts";
import { createBareApp, serveBare } from "./bareApp.ts";
import { postSigned, stopPosting } from "./barePoster.ts";

/*
 * The ceiling of in and out: one process that takes items in with the same Fastify and posts each, signed, with
 * the same client, from memory. Arguments: the receiver's URL, and how many items may wait, above which they are dropped.
 * Prints its port; `GET /counts` says what it did.
 */
const [url = "", maxQueued = "10000"] = process.argv.slice(2);
const concurrency = 32;
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
  await postSigned(url, item);
  inFlight--;
  delivered++;
  pump();
}

const app = createBareApp((body) => body);
app.post("/t/:target_id", (request, reply) => {
  const body = request.body as Buffer;
  JSON.parse(body.toString("utf8"));
  const id = newId(1, Date.now());
  accepted++;
  if (queue.length - head < Number(maxQueued)) queue.push({ id, body });
  pump();
  return reply.code(202).type("application/json; charset=utf-8").send(`{"id":"${id}","status":"QUEUED"}`);
});
app.get("/counts", () => ({ accepted, delivered }));
await serveBare(app);
process.once("SIGTERM", stopPosting);
