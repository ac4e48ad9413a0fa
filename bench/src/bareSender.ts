import { randomBytes } from "node:crypto";
import { sign } from "../../server/src/items/signature.ts";
import { parseNetworks } from "../../server/src/outbound/addressGuard.ts";
import { createOutbound } from "../../server/src/outbound/outbound.ts";

/*
 * The ceiling of delivery: the same outbound client posting signed bodies as fast as the receiver answers, and
 * no storage, until it is stopped. Arguments: the URL, how many at once.
 */
const [url = "", concurrency = "0"] = process.argv.slice(2);
const outbound = createOutbound({
  allowHttp: true,
  networks: parseNetworks("127.0.0.0/8"),
  userAgent: "bench",
});
const key = randomBytes(32);
const body = Buffer.from(JSON.stringify({ event_type: "order.created", data: "x".repeat(440) }));
/** A turn of the receiver's is longer away than a delivery may take. */
const timeoutMs = 60_000;
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
    timeoutMs,
  });
}

async function postForEver(): Promise<void> {
  for (;;) await post();
}

for (let n = 0; n < Number(concurrency); n++) void postForEver();
