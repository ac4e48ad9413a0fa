import { describe, expect, onTestFinished } from "vitest";
import { foldUsage } from "../src/billing/foldUsage.ts";
import { addMonths, periodBounds, periodOf } from "../src/billing/ledger.ts";
import { createMailboxTarget } from "./support/items.ts";
import { type Account, type Answer, bodyOf, createTestNode, signUp } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";
import { storeUsage } from "./support/billing/storedLedger.ts";

const it = sharedNodeTest()
  .extend(
    "send",
    file,
    ({ node }) =>
      ({ api_key: key }: Account, target: string, headers: Record<string, string> = {}): Promise<Answer> =>
        node.call("POST", `/t/${target}`, { key, body: { some: "thing" }, headers }),
  )
  .extend(
    "readUsage",
    file,
    ({ node }) =>
      async ({ api_key: key }: Account): Promise<Record<string, number>> =>
        (await bodyOf(node.call("GET", "/api/v1/usage", { key }))).usage,
  )
  .extend(
    "read",
    file,
    ({ node }) =>
      (account: Account, path: string): Promise<Answer> =>
        node.call("GET", `/api/v1/billing${path}`, { session: account.session_token }),
  );

describe("usage", () => {
  it("covers the UTC month, all zeros before the first item", async ({
    own: { account },
    node,
    readUsage,
  }) => {
    const { startSeconds, endSeconds } = periodBounds(periodOf(Date.now()));
    const nothing = {
      period_start: startSeconds,
      period_end: endSeconds,
      accepted_events: 0,
      estimated_units: 0,
      estimated_cents: 0,
      pending_meter_events: 0,
    };
    expect(await readUsage(account)).toEqual(nothing);
    const bySession = await node.call("GET", "/api/v1/usage", { session: account.session_token });
    expect(bySession.body.usage).toEqual(nothing);
  });

  it("counts each accepted item once, folded or not, and nothing else", async ({
    own: { account },
    node,
    send,
    readUsage,
  }) => {
    const target = await createMailboxTarget(node, account);
    for (let item = 0; item < 3; item++) expect((await send(account, target)).status).toBe(202);
    const keyed = { "idempotency-key": "same" };
    const first = await send(account, target, keyed);
    expect((await send(account, target, keyed)).body.id).toBe(first.body.id);
    const conflict = await node.call("POST", `/t/${target}`, {
      key: account.api_key,
      body: { other: true },
      headers: keyed,
    });
    expect(conflict.status).toBe(409);
    expect((await send(account, "0".repeat(32))).status).toBe(404);
    const { body } = await node.call("POST", `/api/v1/mailbox-messages/${first.body.id}/claim`, {
      key: account.api_key,
    });
    expect(body.id).toBe(first.body.id);
    const expected = {
      accepted_events: 4,
      estimated_units: 1,
      estimated_cents: 10,
      pending_meter_events: 4,
    };
    expect(await readUsage(account)).toMatchObject(expected);
    await foldUsage(node.pool);
    expect(await readUsage(account)).toMatchObject(expected);
    await send(account, target);
    expect(await readUsage(account)).toMatchObject({ accepted_events: 5, pending_meter_events: 5 });
  });

  it("rounds up to started units, and charges an exempt organization nothing", async ({
    own: { account },
    node,
    readUsage,
  }) => {
    const period = periodOf(Date.now());
    await storeUsage(node.pool, account.user.org_id, 1001, period);
    await storeUsage(node.pool, account.user.org_id, 7, addMonths(period, -1));
    expect(await readUsage(account)).toMatchObject({
      accepted_events: 1001,
      estimated_units: 2,
      estimated_cents: 20,
      pending_meter_events: 1001,
    });
    await setBillingStatus(node.pool, account.user, "exempt");
    expect(await readUsage(account)).toMatchObject({
      accepted_events: 1001,
      estimated_units: 0,
      estimated_cents: 0,
      pending_meter_events: 0,
    });
  });
});

describe("while live billing is disabled", () => {
  it("a new organization is active and shows the price", async ({ read, node }) => {
    expect(await bodyOf(read(await signUp(node), ""))).toEqual({
      status: "active",
      billing_enabled: false,
      grace_ends_at: null,
      has_payment_method: false,
      currency: "usd",
      price_cents: 10,
      unit_size: 1000,
    });
  });

  it("a grace period ends by the database's clock, also on a node whose clock is ahead", async ({
    own: { account },
    node,
    database,
  }) => {
    const ahead = createTestNode(database, {}, { skewMs: 50_000 });
    onTestFinished(() => ahead.stop());
    const endsAt = await setBillingStatus(node.pool, account.user, "grace", 40);
    const { body } = await ahead.call("GET", "/api/v1/billing", { session: account.session_token });
    expect(body).toMatchObject({ status: "grace", grace_ends_at: endsAt });
  });

  it("checkout, portal and webhook answer 503", async ({ node }) => {
    const { session_token: session } = await signUp(node);
    for (const body of [undefined, {}, { price: "price_free", success_url: "https://evil.example" }]) {
      const answer = await node.call("POST", "/api/v1/billing/checkout", { session, body });
      expect(answer.status).toBe(503);
      expect(answer.body).toEqual({ error: "live billing is disabled" });
      expect(answer.headers["x-error-code"]).toBe("billing_disabled");
    }
    expect((await node.call("GET", "/api/v1/billing/portal", { session })).status).toBe(503);
    const headers = { "stripe-signature": "t=1,v1=00" };
    const notice = await node.call("POST", "/api/v1/billing/webhook", { body: { id: "evt_1" }, headers });
    expect(notice.status).toBe(503);
  });

  it("there are no invoices", async ({ read, node }) => {
    const body = await bodyOf(read(await signUp(node), "/invoices"));
    expect(body).toEqual({ invoices: [], billing_enabled: false });
  });

  it("reconciliation shows only the local counts", async ({ node, own: { account }, send, read }) => {
    await send(account, await createMailboxTarget(node, account));
    const body = await bodyOf(read(account, "/reconciliation"));
    const { startSeconds, endSeconds } = periodBounds(periodOf(Date.now()));
    expect(body).toEqual({
      status: "disabled",
      billing_enabled: false,
      period_start: startSeconds,
      period_end: endSeconds,
      accepted_events: 1,
      pending_meter_events: 1,
      estimated_cents: 10,
      processor_events: null,
      difference_events: null,
      latest_invoice: null,
    });
  });

  it("billing needs a session", async ({ node }) => {
    const { api_key: key } = await signUp(node);
    for (const path of ["", "/portal", "/invoices", "/reconciliation"]) {
      expect((await node.call("GET", `/api/v1/billing${path}`, { key })).status).toBe(403);
      expect((await node.call("GET", `/api/v1/billing${path}`)).status).toBe(401);
    }
    expect((await node.call("POST", "/api/v1/billing/checkout", { key })).status).toBe(403);
  });
});

describe("a billing state", () => {
  it.for([
    ["pending", null, 403, 403],
    ["active", null, 202, 200],
    ["grace", 60, 202, 200],
    ["grace", -1, 402, 402],
    ["suspended", null, 402, 402],
    ["exempt", null, 202, 200],
  ] as const)(
    "%s (grace ends in %s s) gives %d for an item and %d for a new key, and reading works",
    async ([state, graceIn, item, newKey], { node, send, read }) => {
      const account = await signUp(node);
      const target = await createMailboxTarget(node, account);
      const endsAt = await setBillingStatus(node.pool, account.user, state, graceIn);
      expect((await send(account, target)).status).toBe(item);
      const created = await node.call("POST", "/api/v1/keys", {
        session: account.session_token,
        body: { name: "second" },
      });
      expect(created.status).toBe(newKey);
      expect((await node.call("GET", "/api/v1/events", { key: account.api_key })).status).toBe(200);
      const shown = graceIn === -1 ? "suspended" : state;
      const graceEndsAt = shown === "grace" ? endsAt : null;
      expect((await read(account, "")).body).toMatchObject({ status: shown, grace_ends_at: graceEndsAt });
      const { body } = await node.call("GET", "/api/v1/orgs", { key: account.api_key });
      expect(body.org).toMatchObject({ billing_status: shown, billing_grace_ends_at: graceEndsAt });
    },
  );
});
