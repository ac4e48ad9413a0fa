import { targetId } from "../commands/chooseTarget.ts";
import { followItems, isPassing } from "../commands/followItems.ts";
import { PostriderError } from "../../../sdk/src/client.ts";
import { type Output, plain } from "../output.ts";
import type { Service } from "../session.ts";
import { forward, type Forwarded, type Forwarding } from "./forward.ts";
import type { Pacer } from "./pacer.ts";
import { showForwarded } from "./showForwarded.ts";

interface Mirroring {
  out: Output;
  service: Service;
  forwarding: Forwarding;
  pacer: Pacer;
}

/** Posts each item that a target gets from now on, in order, until `stop` aborts. The target's own deliveries do not change. */
export async function mirrorTarget(
  { out, service, forwarding, pacer }: Mirroring,
  named: string,
  stop: AbortSignal,
): Promise<void> {
  const id = await targetId(service.client, named);
  const following = {
    stop,
    nowMs: service.nowMs,
    onBegun: () => out.say(`mirroring ${plain(named)} to ${forwarding.url}; Ctrl-C ends it`),
    onProblem: (what: string) => out.say(what),
  };
  for await (const event of followItems(service.client, { target_id: id }, following)) {
    if (stop.aborted) return;
    if (event.status === "FILTERED") continue;
    const item = await readPatiently({ out, service, pacer }, event.id, stop);
    if (stop.aborted) return;
    if (item === undefined) {
      out.say(`${event.id} was removed before it could be mirrored`);
      continue;
    }
    for (;;) {
      const outcome = await forward(forwarding, item, item.payload, stop);
      if (stop.aborted) return;
      showForwarded(out, item, outcome);
      if (outcome.kind === "answered") break;
      await pacer.afterFailure(stop);
    }
    pacer.afterSuccess();
  }
}

/** Calls {@link readItem}, again and again while the service is unavailable; undefined also when `stop` aborts. */
async function readPatiently(
  { out, service, pacer }: Pick<Mirroring, "out" | "service" | "pacer">,
  id: string,
  stop: AbortSignal,
): Promise<Item | undefined> {
  while (!stop.aborted) {
    try {
      const item = await readItem(service, id);
      pacer.afterSuccess();
      return item;
    } catch (error) {
      if (!isPassing(error)) throw error;
      out.say(plain(`${error.message}; trying again`));
      await pacer.afterFailure(stop);
    }
  }
  return undefined;
}

interface Item extends Forwarded {
  payload: string;
}

/** Reads an item as its target gets it; undefined when the service no longer stores the item or its payload. */
async function readItem({ client, readPayloadText }: Service, id: string): Promise<Item | undefined> {
  try {
    const { event } = await client.readEvent(id);
    const { event_type: type, correlation_id: correlation } = event;
    // A replay is sent with the webhook-id of the replayed item.
    const webhookId = event.webhook_id ?? id;
    return {
      id: webhookId,
      event_type: type,
      correlation_id: correlation,
      payload: await readPayloadText(id),
    };
  } catch (error) {
    if (error instanceof PostriderError && [404, 410].includes(error.status)) return undefined;
    throw error;
  }
}
