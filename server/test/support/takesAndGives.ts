import { expect } from "vitest";
import { createMailboxTarget } from "./items.ts";
import { isSignedWith, type Receiver } from "./receiver.ts";
import type { ServiceProcess } from "./serviceProcess.ts";
import { bodyOf, signUp } from "./testNode.ts";
import { until } from "./until.ts";
import { organizationOf } from "./organization.ts";

/** Sends an item to a webhook, one to a mailbox and one to all targets of a customer, and replays one. */
export async function takesAndGives(service: ServiceProcess, receiver: Receiver): Promise<void> {
  const { call, newTarget, send, settled, account } = organizationOf(
    service,
    await signUp(service),
    receiver,
  );
  const webhook = await newTarget();
  const delivered = await send(webhook.id, { hello: "webhook" });
  const [arrived] = await receiver.arrivals(1, { path: webhook.path });
  expect(isSignedWith(webhook.secret, arrived!)).toBe(true);
  await settled(delivered, "DELIVERED");

  const mailbox = await createMailboxTarget(service, account);
  const message = await send(mailbox, { hello: "mailbox" });
  const { messages } = await bodyOf(call("POST", `/api/v1/mailboxes/${mailbox}/claim`));
  expect(messages.map(({ id }: { id: string }) => id)).toEqual([message]);
  const { claim_token: token } = messages[0];
  expect(
    await bodyOf(call("POST", `/api/v1/mailbox-messages/${message}/ack`, { claim_token: token })),
  ).toMatchObject({ status: "ACKNOWLEDGED" });

  await bodyOf(call("PUT", "/api/v1/customers/shop", {}));
  const ofShop = await newTarget({ customer_uid: "shop" });
  expect((await call("POST", "/p/shop", { hello: "shop" })).status).toBe(202);
  await receiver.arrivals(1, { path: ofShop.path });
  const replay = await call("POST", `/api/v1/events/${delivered}/replay`);
  expect(replay.status).toBe(202);
  await receiver.arrivals(2, { path: webhook.path });
  await settled(replay.body.id, "DELIVERED");
  await until(
    () => call("GET", "/api/v1/usage"),
    ({ body }) => body.usage.accepted_events === 3,
  );
}
