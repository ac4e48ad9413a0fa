import { createHmac } from "node:crypto";
import { newId, nowOf, type World } from "./world.ts";

export interface OutgoingWebhook {
  event: { id: string; object: "event"; type: string; created: number; data: { object: object } };
  /** Whether the receiver has answered 2xx. */
  delivered: boolean;
}

/** Records an event, and sends its notice to the receiver at once unless notices are held. */
export function emit(world: World, type: string, object: object): void {
  const event = {
    id: newId("evt"),
    object: "event" as const,
    api_version: "2026-10-28.endive",
    type,
    created: nowOf(world),
    data: { object },
  };
  const webhook: OutgoingWebhook = { event, delivered: false };
  world.webhooks.outbox.push(webhook);
  if (world.webhooks.mode === "send") void deliver(world, webhook);
}

/**
 * Sends one notice, signed with every secret as during a rotation.
 * @returns the receiver's status; 0 without an answer.
 */
export async function deliver(world: World, webhook: OutgoingWebhook): Promise<number> {
  const { url, secrets } = world.webhooks;
  if (url === undefined) return 0;
  const body = JSON.stringify(webhook.event, null, 2);
  const timestamp = nowOf(world);
  const signatures = secrets.map((secret) => `v1=${sign(secret, `${timestamp}.${body}`)}`);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "stripe-signature": [`t=${timestamp}`, ...signatures].join(","),
      },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    if (response.ok) webhook.delivered = true;
    return response.status;
  } catch {
    return 0;
  }
}

function sign(secret: string, payload: string): string {
  return createHmac("sha256", secret).update(payload).digest("hex");
}
