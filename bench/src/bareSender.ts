import { postSigned } from "./barePoster.ts";

/*
 * The ceiling of delivery: the same outbound client posts signed bodies in a closed loop, without storage, until it is
 * stopped. Arguments: the URL, the number of requests in flight, the length of the body (about 500 bytes by default).
 */
const [url = "", concurrency = "0", bodyBytes = "480"] = process.argv.slice(2);
const frame = JSON.stringify({ event_type: "order.created", data: "" });
const data = "x".repeat(Number(bodyBytes) - frame.length);
const body = Buffer.from(JSON.stringify({ event_type: "order.created", data }));
/** The next turn at the receiver may be later than the default timeout of a delivery. */
const timeoutMs = 60_000;
const id = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";

async function postForEver(): Promise<void> {
  for (;;) await postSigned(url, { id, body, headers: ["x-event-type", "order.created"], timeoutMs });
}

for (let n = 0; n < Number(concurrency); n++) void postForEver();
