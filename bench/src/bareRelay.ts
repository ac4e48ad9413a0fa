import { newId } from "../../server/src/postgres/ids.ts";
import { createBareApp, serveBare } from "./bareApp.ts";
import { postSigned, stopPosting } from "./barePoster.ts";

/*
 * The ceiling of in-and-out: one process that accepts items with the same Fastify and posts them, signed, with the same
 * client, from memory. Arguments: the receiver's URL, and the length of the queue above which items are dropped.
 * Prints its port.
 */
const [url = "", maxQueued = "10000"] = process.argv.slice(2);
const concurrency = 32;
let queue: { id: string; body: Buffer }[] = [];
let head = 0;
let inFlight = 0;

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
  pump();
}

const app = createBareApp((body) => body);
app.post("/t/:target_id", (request, reply) => {
  const body = request.body as Buffer;
  JSON.parse(body.toString("utf8"));
  const id = newId(1, Date.now());
  if (queue.length - head < Number(maxQueued)) queue.push({ id, body });
  pump();
  return reply.code(202).type("application/json; charset=utf-8").send(`{"id":"${id}","status":"QUEUED"}`);
});
await serveBare(app);
process.once("SIGTERM", stopPosting);
