import { randomBytes } from "node:crypto";
import { sign } from "../../server/src/delivery/signature.ts";
import { parseNetworks } from "../../server/src/net/addressGuard.ts";
import { createOutbound } from "../../server/src/net/outbound.ts";

/*
 * The ceiling of delivery: the same outbound client posting signed bodies as fast as the receiver answers, and
 * no storage. Arguments: the URL, the number of items, how many before them, how many at once. Prints the items
 * per second.
 */
const [url = "", items = "0", warmUpItems = "0", concurrency = "0"] = process.argv.slice(2);
const outbound = createOutbound({
  allowHttp: true,
  networks: parseNetworks("127.0.0.0/8"),
  userAgent: "bench",
});
const key = randomBytes(32);
const body = Buffer.from(JSON.stringify({ event_type: "order.created", data: "x".repeat(440) }));
const id = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";

async function post(): Promise<void> {
  const timestamp = Math.floor(Date.now() / 1000);
  await outbound.request({
    method: "POST",
    url,
    headers: [
      "content-type",
      "application/json",
      "webhook-id",
      id,
      "webhook-timestamp",
      String(timestamp),
      "webhook-signature",
      sign([key], id, timestamp, body),
      "x-event-type",
      "order.created",
    ],
    body,
  });
}

async function run(total: number): Promise<number> {
  let left = total;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: Number(concurrency) }, async () => {
      while (left-- > 0) await post();
    }),
  );
  return total / ((performance.now() - startedAt) / 1000);
}

await run(Number(warmUpItems));
process.stdout.write(`${await run(Number(items))}\n`);
outbound.close();
