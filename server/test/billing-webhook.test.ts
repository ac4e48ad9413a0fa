import { createHmac } from "node:crypto";
import { describe, expect, vi } from "vitest";
import { billingSettings } from "./support/billing/settings.ts";
import { type Account, createTestNode } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { countRows } from "./support/unseenRows.ts";

const it = nodeTest()
  // A node whose billing worker is stopped: it stores notices like a process that ends right afterwards.
  .extend("processor", file, ({ standIn }) => standIn.account("webhook"))
  .extend("settings", file, ({ processor }) => billingSettings(processor))
  .extend(
    "postSigned",
    file,
    ({ node }) =>
      async (payload: string, signature: string | undefined): Promise<Notice> => {
        const response = await node.service.app.inject({
          method: "POST",
          url: "/api/v1/billing/webhook",
          headers: {
            "content-type": "application/json; charset=utf-8",
            ...(signature !== undefined && { "stripe-signature": signature }),
          },
          payload,
        });
        return { status: response.statusCode, body: response.json() };
      },
  )
  /** Number of stored notices that are not processed yet. */
  .extend("countWaiting", file, ({ node }) => (): Promise<number> => {
    return countRows(node.pool, "billing_events", { processed_at: null });
  })
  /** POSTs the exact bytes with a signature over them by each secret. */
  .extend(
    "post",
    file,
    ({ postSigned }) =>
      async (
        payload: string,
        secrets: string[],
        atSeconds = Math.floor(Date.now() / 1000),
      ): Promise<Notice> => {
        const signatures = secrets.map(
          (secret) => `v1=${createHmac("sha256", secret).update(`${atSeconds}.${payload}`).digest("hex")}`,
        );
        return postSigned(payload, [`t=${atSeconds}`, ...signatures].join(","));
      },
  )
  /** Completes the payment page and passes its notices to the node. */
  .extend(
    "pay",
    file,
    ({ node, processor, post }) =>
      async ({ session_token: session, user }: Account): Promise<{ customer: string }> => {
        const { body } = await node.call("POST", "/api/v1/billing/checkout", { session });
        await processor.control({ action: "pay page", session: body.url.split("/").pop() });
        const { customers, subscriptions } = await processor.state();
        const customer = customers.find(({ metadata }) => metadata["org_id"] === user.org_id)!.id;
        const { id } = subscriptions.find((subscription) => subscription.customer === customer)!;
        const object = { id, object: "subscription", customer };
        expect((await post(eventOf("customer.subscription.created", object), [current])).status).toBe(200);
        return { customer };
      },
  )
  .extend(
    "billingStatusOf",
    file,
    ({ node }) =>
      async ({ session_token: session }: Account): Promise<string> =>
        (await node.call("GET", "/api/v1/billing", { session })).body.status,
  );

const [current, previous] = ["whsec_current", "whsec_previous"];

interface Notice {
  status: number;
  body: { error?: string };
}

let events = 0;

/** An event in the processor's own formatting, which differs from our serializer's. */
function eventOf(type: string, object: object, id = `evt_own_${events++}`): string {
  return JSON.stringify({ id, object: "event", type, created: 1, data: { object } }, null, "\t");
}

const updated = { id: "sub_1", object: "subscription", customer: "cus_nobody" };

describe("the signature", () => {
  it("by either secret is accepted, also beside a wrong one", async ({ post }) => {
    for (const secrets of [[current], [previous], ["whsec_wrong", previous]]) {
      const answer = await post(eventOf("customer.subscription.updated", updated), secrets);
      expect(answer).toEqual({ status: 200, body: { received: true } });
    }
  });

  it("is refused by another secret, too old, missing, malformed or over other bytes; nothing is stored", async ({
    countWaiting,
    post,
    postSigned,
  }) => {
    const before = await countWaiting();
    const payload = eventOf("customer.subscription.updated", updated);
    for (const send of [
      () => post(payload, ["whsec_wrong"]),
      () => post(payload, [current], Math.floor(Date.now() / 1000) - 360),
      () => postSigned(payload, undefined),
      () => postSigned(payload, "t=x,v1=\u007f, ,v1"),
      () => postSigned(`${payload} `, "t=1,v1=00"),
      () => postSigned("", "t=1,v1=00"),
    ]) {
      const answer = await send();
      expect(answer.status).toBe(400);
      expect(answer.body.error).toMatch(/signature/);
    }
    expect(await countWaiting()).toBe(before);
  });

  it("over bytes that are not an event is refused", async ({ post }) => {
    expect((await post("{", [current])).status).toBe(400);
  });
});

describe("a notice", () => {
  it("is stored once, also when it arrives repeatedly and simultaneously", async ({ post, node }) => {
    const payload = eventOf("customer.subscription.updated", updated, "evt_repeated");
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(payload, [current])));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(await countRows(node.pool, "billing_events", { id: "evt_repeated" })).toBe(1);
  });

  it("of an unknown type, or about no object, is accepted and ignored", async ({ countWaiting, post }) => {
    const before = await countWaiting();
    for (const payload of [
      eventOf("customer.tax_id.created", updated),
      eventOf("a.type.of.next.year", {}),
      eventOf("invoice.paid", { id: "in_\u0000", customer: "cus_1" }),
      JSON.stringify({ type: "invoice.paid" }),
    ]) {
      expect((await post(payload, [current])).status).toBe(200);
    }
    expect(await countWaiting()).toBe(before);
  });

  it("is answered at once while the processor's API hangs", async ({ processor, post }) => {
    await processor.control({
      action: "faults",
      faults: [{ match: "/v1/", kind: "hang_before", times: 1000 }],
    });
    const { requests: before } = await processor.state();
    expect((await post(eventOf("invoice.paid", { ...updated, id: "in_1" }), [current])).status).toBe(200);
    // The notice was answered without a request to the processor, which would have hung.
    expect((await processor.state()).requests).toEqual(before);
    await processor.control({ action: "faults", faults: [] });
  });

  it("that a killed process had stored is processed by the next process", async ({
    own: { account },
    pay,
    billingStatusOf,
    database,
    processor,
    countWaiting,
  }) => {
    await pay(account);
    expect(await billingStatusOf(account)).toBe("pending");
    const next = createTestNode(database, billingSettings(processor));
    try {
      next.service.start();
      await vi.waitFor(async () => expect(await billingStatusOf(account)).toBe("active"), {
        timeout: 30_000,
      });
      await vi.waitFor(async () => expect(await countWaiting()).toBe(0), { timeout: 30_000 });
    } finally {
      await next.stop();
    }
  });

  it("of a new invoice is refused until the invoice is held, so that the processor keeps it open", async ({
    own: { account },
    pay,
    processor,
    post,
  }) => {
    const { customer } = await pay(account);
    const { subscriptions } = await processor.state();
    const { periodEnd } = subscriptions.find((subscription) => subscription.customer === customer)!;
    await processor.control({ action: "clock", now: periodEnd });
    const { invoices } = await processor.state();
    const { id } = invoices.find((invoice) => invoice.customer === customer)!;
    const payload = eventOf("invoice.created", { id, object: "invoice", customer });
    await processor.control({
      action: "faults",
      faults: [{ match: "/v1/invoices", kind: "limit", times: 1 }],
    });
    expect((await post(payload, [current])).status).toBe(503);
    expect((await post(payload, [current])).status).toBe(200);
    expect((await post(payload, [current])).status).toBe(200);
    const held = (await processor.state()).invoices.find((invoice) => invoice.id === id);
    expect(held).toMatchObject({ status: "draft", autoAdvance: false });
  });
});
