import { randomBytes } from "node:crypto";
import { sign } from "../../server/src/items/signature.ts";
import { parseNetworks } from "../../server/src/outbound/addressGuard.ts";
import type { ExchangeResult } from "../../server/src/outbound/exchangeResult.ts";
import { createOutbound } from "../../server/src/outbound/outbound.ts";

const outbound = createOutbound({
  allowHttp: true,
  networks: parseNetworks("127.0.0.0/8"),
  userAgent: "bench",
});
const key = randomBytes(32);

/** An item to post. */
export interface BareItem {
  id: string;
  body: Buffer;
  headers?: readonly string[];
  timeoutMs?: number;
}

/** Posts an item, signed, with the service's outbound client. */
export function postSigned(
  url: string,
  { id, body, headers = [], timeoutMs }: BareItem,
): Promise<ExchangeResult> {
  const timestamp = Math.floor(Date.now() / 1000);
  return outbound.request({
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
      ...headers,
    ],
    body,
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
}

/** Closes the connections, so that the process can end. */
export function stopPosting(): void {
  outbound.close();
}
