import { onTestFinished } from "vitest";
import { parseNetworks } from "../../src/outbound/addressGuard.ts";
import { createOutbound, type Outbound, type OutboundOptions } from "../../src/outbound/outbound.ts";
import { type RawReceiver, startRawReceiver } from "./rawReceiver.ts";

/* The outbound client and receivers of one test, which end with it. */

export const ok = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** A client that reaches loopback over plain HTTP, unless the options differ. */
export function outboundWith(options: Partial<OutboundOptions> = {}): Outbound {
  const outbound = createOutbound({
    allowHttp: true,
    networks: parseNetworks("127.0.0.0/8,::1/128"),
    userAgent: "Postrider/test",
    ...options,
  });
  onTestFinished(() => outbound.close());
  return outbound;
}

/** Starts a raw receiver that is stopped after the test. */
export async function receiverThat(...start: Parameters<typeof startRawReceiver>): Promise<RawReceiver> {
  const receiver = await startRawReceiver(...start);
  onTestFinished(() => receiver.stop());
  return receiver;
}
