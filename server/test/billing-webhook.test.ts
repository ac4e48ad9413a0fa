import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { billingSettings } from "./support/billing/settings.ts";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { type StandIn, type StandInAccount, startStandIn } from "./support/stripeStandIn/client.ts";
import { type Account, createTestNode, signUp, type TestNode } from "./support/testNode.ts";

let database: TestDatabase;
let standIn: StandIn;
let processor: StandInAccount;
/** A node whose billing worker rests: it stores notices as a process does that dies right after. */
let node: TestNode;

beforeAll(async () => {
  database = await createTestDatabase();
  standIn = await startStandIn();
  processor = standIn.account("webhook");
  node = createTestNode(database, billingSettings(processor));
});

afterAll(async () => {
  await node.stop();
  await database.drop();
  await standIn.stop();
});

const [current, previous] = ["whsec_current", "whsec_previous"];

interface Notice {
  status: number;
  body: { error?: string };
}

/** POSTs the bytes as they are, with a signature over them by each secret. */
async function post(
  payload: string,
  secrets: string[],
  atSeconds = Math.floor(Date.now() / 1000),
): Promise<Notice> {
  const signatures = secrets.map(
    (secret) => `v1=${createHmac("sha256", secret).update(`${atSeconds}.${payload}`).digest("hex")}`,
  );
  return postSigned(payload, [`t=${atSeconds}`, ...signatures].join(","));
}

async function postSigned(payload: string, signature: string | undefined): Promise<Notice> {
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
}

let events = 0;

/** An event in the processor's own layout, which no serializer of ours would give. */
function eventOf(type: string, object: object, id = `evt_own_${events++}`): string {
  return JSON.stringify({ id, object: "event", type, created: 1, data: { object } }, null, "\t");
}

async function waiting(): Promise<string[]> {
  const { rows } = await node.pool.query<{ id: string }>(
    "select id from billing_events where processed_at is null order by id",
  );
  return rows.map(({ id }) => id);
}

const updated = { id: "sub_1", object: "subscription", customer: "cus_nobody" };

describe("the signature", () => {
  it("by either secret opens the door, also beside a wrong one", async () => {
    for (const secrets of [[current], [previous], ["whsec_wrong", previous]]) {
      const answer = await post(eventOf("customer.subscription.updated", updated), secrets);
      expect(answer).toEqual({ status: 200, body: { received: true } });
    }
  });

  it.each([
    ["by another secret", (payload: string) => post(payload, ["whsec_wrong"])],
    ["six minutes old", (payload: string) => post(payload, [current], Math.floor(Date.now() / 1000) - 360)],
    ["missing", (payload: string) => postSigned(payload, undefined)],
    ["nonsense", (payload: string) => postSigned(payload, "t=x,v1=\u007f, ,v1")],
    ["over other bytes", (payload: string) => postSigned(`${payload} `, "t=1,v1=00")],
    ["of an empty body", () => postSigned("", "t=1,v1=00")],
  ])("that is %s is refused, and nothing is stored", async (_, send) => {
    const before = await waiting();
    const answer = await send(eventOf("customer.subscription.updated", updated));
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/signature/);
    expect(await waiting()).toEqual(before);
  });

  it("over bytes that are not an event is refused", async () => {
    expect((await post("{", [current])).status).toBe(400);
  });
});

describe("a notice", () => {
  it("is stored once, however often and at the same time it comes", async () => {
    const payload = eventOf("customer.subscription.updated", updated, "evt_repeated");
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(payload, [current])));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await waiting()).filter((id) => id === "evt_repeated")).toHaveLength(1);
  });

  it("of a type that is not known, or about nothing, is accepted and ignored", async () => {
    const before = await waiting();
    for (const payload of [
      eventOf("customer.tax_id.created", updated),
      eventOf("a.type.of.next.year", {}),
      eventOf("invoice.paid", { id: "in_\u0000", customer: "cus_1" }),
      JSON.stringify({ type: "invoice.paid" }),
    ]) {
      expect((await post(payload, [current])).status).toBe(200);
    }
    expect(await waiting()).toEqual(before);
  });

  it("is answered at once while the processor's interface hangs", async () => {
    await processor.control({
      action: "faults",
      faults: [{ match: "/v1/", kind: "hang_before", times: 1000 }],
    });
    const startedAt = performance.now();
    expect((await post(eventOf("invoice.paid", { ...updated, id: "in_1" }), [current])).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(1000);
    await processor.control({ action: "faults", faults: [] });
  });

  it("that a dead process had stored is processed by the next one", async () => {
    const account = await signUp(node);
    await pay(account);
    expect(await statusOf(account)).toBe("pending");
    const next = createTestNode(database, billingSettings(processor));
    try {
      next.service.start();
      await vi.waitFor(async () => expect(await statusOf(account)).toBe("active"), { timeout: 10_000 });
      await vi.waitFor(async () => expect(await waiting()).toEqual([]), { timeout: 10_000 });
    } finally {
      await next.stop();
    }
  });

  it("of a new invoice is refused until the invoice is held, so that the processor keeps it open", async () => {
    const account = await signUp(node);
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

/** Goes through the payment page and hands the notices of it to the node. */
async function pay({ session_token: session, user }: Account): Promise<{ customer: string }> {
  const { body } = await node.call("POST", "/api/v1/billing/checkout", { session });
  await processor.control({ action: "pay page", session: body.url.split("/").pop() });
  const { customers, subscriptions } = await processor.state();
  const customer = customers.find(({ metadata }) => metadata["org_id"] === user.org_id)!.id;
  const { id } = subscriptions.find((subscription) => subscription.customer === customer)!;
  const object = { id, object: "subscription", customer };
  expect((await post(eventOf("customer.subscription.created", object), [current])).status).toBe(200);
  return { customer };
}

async function statusOf({ session_token: session }: Account): Promise<string> {
  return (await node.call("GET", "/api/v1/billing", { session })).body.status;
}
