import { describe, expect, vi } from "vitest";
import { createMailboxTarget, sendItems } from "./support/items.ts";
import { billingSettings } from "./support/billing/settings.ts";
import { type Account, type Answer, createTestNode, signUp } from "./support/testNode.ts";
import { entries } from "./support/auditLog.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";

const it = nodeTest()
  .extend("processor", file, ({ standIn }) => standIn.account("live"))
  .extend("settings", file, ({ processor }) => billingSettings(processor))
  .extend(
    "checkout",
    file,
    ({ node }) =>
      ({ session_token: session }: Account, body?: unknown): Promise<Answer> =>
        node.call("POST", "/api/v1/billing/checkout", { session, body }),
  )
  .extend(
    "read",
    file,
    ({ node }) =>
      ({ session_token: session }: Account, path = ""): Promise<Answer> =>
        node.call("GET", `/api/v1/billing${path}`, { session }),
  )
  .extend(
    "untilReconciliation",
    file,
    ({ read }) =>
      (account: Account, expected: object): Promise<void> =>
        vi.waitFor(
          async () => expect((await read(account, "/reconciliation")).body).toMatchObject(expected),
          { timeout: 30_000, interval: 100 },
        ),
  )
  /** Takes an organization through the payment page. */
  .extend(
    "subscribe",
    file,
    ({ node, checkout, processor, read }) =>
      async (): Promise<Account & { customer: string }> => {
        const account = await signUp(node);
        const { status, body } = await checkout(account);
        expect(status).toBe(200);
        await processor.control({ action: "pay page", session: body.url.split("/").pop() });
        await vi.waitFor(async () => expect((await read(account)).body.status).toBe("active"), {
          timeout: 30_000,
        });
        const key = await node.call("POST", "/api/v1/keys", {
          session: account.session_token,
          body: { name: "k" },
        });
        expect(key.status).toBe(200);
        const { customers } = await processor.state();
        const customer = customers.find(({ metadata }) => metadata["org_id"] === account.user.org_id)!.id;
        return { ...account, api_key: key.body.key, customer };
      },
  )
  .extend("sendItems", file, ({ node }) => async (account: Account, count: number): Promise<void> => {
    await sendItems(node, account, await createMailboxTarget(node, account), count);
  });

it.beforeAll(async ({ node, url, processor }) => {
  await processor.control({
    action: "webhooks",
    url: `${url}/api/v1/billing/webhook`,
    secrets: processor.config.webhookSecrets,
    mode: "send",
  });
  node.service.start();
});

describe("setting up payment", () => {
  it("starts from a pending organization without a key, which may only read", async ({
    own: { account },
    node,
    read,
  }) => {
    expect(account.api_key).toBeUndefined();
    expect((await read(account)).body).toMatchObject({
      status: "pending",
      billing_enabled: true,
      has_payment_method: false,
    });
    const key = await node.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "k" },
    });
    expect(key.status).toBe(403);
    expect((await read(account, "/portal")).status).toBe(409);
    expect((await read(account, "/invoices")).body).toEqual({ invoices: [], billing_enabled: true });
  });

  it("leads to one hosted page, whose price and addresses the request body cannot change", async ({
    own: { account },
    checkout,
    processor,
  }) => {
    const first = await checkout(account);
    const overriding = { price: "price_free", success_url: "https://evil.example", line_items: [] };
    const answers = await Promise.all([checkout(account, overriding), checkout(account), checkout(account)]);
    for (const { body } of answers) expect(body).toEqual(first.body);
    const { sessions, customers } = await processor.state();
    const mine = sessions.filter(({ params }) => params["client_reference_id"] === account.user.org_id);
    expect(mine).toHaveLength(1);
    expect(mine[0]).toMatchObject({
      priceId: "price_items",
      params: {
        mode: "subscription",
        success_url: "https://postrider.example/billing?checkout=done",
        cancel_url: "https://postrider.example/billing?checkout=canceled",
        subscription_data: {
          billing_cycle_anchor_config: { day_of_month: "1", hour: "0", minute: "0", second: "0" },
        },
      },
    });
    const ofOrganization = customers.filter(({ metadata }) => metadata["org_id"] === account.user.org_id);
    expect(ofOrganization).toHaveLength(1);
  });

  it("is not needed by an exempt organization", async ({ pool, node, checkout }) => {
    const account = await signUp(node);
    await setBillingStatus(pool, account.user, "exempt");
    const refused = await checkout(account);
    expect([refused.status, refused.headers["x-error-code"]]).toEqual([409, "workspace_exempt"]);
  });

  it("makes the organization active, and prevents a second subscription", async ({
    subscribe,
    read,
    checkout,
    node,
  }) => {
    const account = await subscribe();
    expect((await read(account)).body).toMatchObject({ status: "active", has_payment_method: true });
    const second = await checkout(account);
    expect([second.status, second.headers["x-error-code"]]).toEqual([409, "subscription_exists"]);
    const portal = await read(account, "/portal");
    expect(portal.body.url).toMatch(/^https:\/\/portal\.stand-in\.test\//);
    const changes = (await entries(node, account)).filter(({ after }) => after?.["billing_status"]);
    expect(changes).toMatchObject([
      {
        action: "billing.state_changed",
        actor: { name: expect.stringMatching(/^stripe evt_/) },
        before: { billing_status: "pending" },
        after: { billing_status: "active" },
      },
      { action: "organization.created", after: { billing_status: "pending" } },
    ]);
  });

  it("works again after the customer was deleted at the processor", async ({
    own: { account },
    checkout,
    processor,
    read,
  }) => {
    await checkout(account);
    const { customers } = await processor.state();
    const customer = customers.find(({ metadata }) => metadata["org_id"] === account.user.org_id)!;
    await processor.control({ action: "delete customer", customer: customer.id });
    expect(await read(account, "/portal")).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("use the checkout first") },
    });
    expect(await read(account, "/reconciliation")).toMatchObject({
      status: 200,
      body: { status: "reconciled", processor_events: null, latest_invoice: null },
    });
    expect((await read(account, "/invoices")).body).toEqual({ invoices: [], billing_enabled: true });
    const again = await checkout(account);
    expect(again.status).toBe(200);
    await processor.control({ action: "pay page", session: again.body.url.split("/").pop() });
    await vi.waitFor(async () => expect((await read(account)).body.status).toBe("active"), {
      timeout: 30_000,
    });
  });
});

describe("usage with live billing", () => {
  it("is exported automatically and reconciles with the processor", async ({
    subscribe,
    sendItems,
    untilReconciliation,
    node,
  }) => {
    const account = await subscribe();
    await sendItems(account, 5);
    await untilReconciliation(account, {
      status: "reconciled",
      billing_enabled: true,
      accepted_events: 5,
      pending_meter_events: 0,
      estimated_cents: 10,
      processor_events: 5,
      difference_events: 0,
      latest_invoice: null,
    });
    const { body } = await node.call("GET", "/api/v1/usage", { key: account.api_key });
    expect(body.usage).toMatchObject({ accepted_events: 5, pending_meter_events: 0 });
  });

  it.for(["gateway_200", "gateway_502"] as const)(
    "is exported again after a proxy in front of the processor answered instead: %s",
    async (kind, { subscribe, processor, sendItems, untilReconciliation }) => {
      const account = await subscribe();
      await processor.control({ action: "faults", faults: [{ match: "meter_events", kind, times: 1 }] });
      await sendItems(account, 3);
      await untilReconciliation(account, {
        status: "reconciled",
        accepted_events: 3,
        processor_events: 3,
      });
    },
  );

  it("is pending, not lost, until the processor has counted it", async ({
    subscribe,
    processor,
    sendItems,
    untilReconciliation,
    read,
  }) => {
    const account = await subscribe();
    await processor.control({ action: "lag", seconds: 3600 });
    await sendItems(account, 2);
    await untilReconciliation(account, {
      status: "pending",
      pending_meter_events: 0,
      processor_events: 0,
      difference_events: -2,
    });
    await processor.control({ action: "lag", seconds: 0 });
    expect((await read(account, "/reconciliation")).body).toMatchObject({
      status: "reconciled",
      processor_events: 2,
    });
  });
});

describe("a processor in trouble", () => {
  it.for([
    ["reset", 503],
    ["error_before", 503],
    ["limit", 503],
    ["gateway_200", 503],
    ["gateway_502", 503],
  ] as const)(
    "that answers with %s makes the routes answer %d with a message",
    async ([kind, status], { subscribe, processor, read, checkout, sendItems }) => {
      const account = await subscribe();
      await processor.control({ action: "faults", faults: [{ match: "/v1/", kind, times: 1000 }] });
      try {
        for (const path of ["/portal", "/invoices", "/reconciliation"]) {
          const answer = await read(account, path);
          expect(answer.status).toBe(status);
          expect(answer.body).toEqual({ error: "the payment processor does not answer: try again" });
          expect(answer.headers["retry-after"]).toBe("5");
        }
        expect((await checkout(account)).status).toBe(status);
        // Requests that need no payment processor still work.
        expect((await read(account)).status).toBe(200);
        await sendItems(account, 1);
      } finally {
        await processor.control({ action: "faults", faults: [] });
      }
    },
  );

  it.for(["lose", "error_after", "error_before", "reset", "limit"] as const)(
    "gets no second customer or page when it answers a checkout with %s",
    async (kind, { node, processor, checkout }) => {
      const account = await signUp(node);
      for (const match of ["POST /v1/customers", "POST /v1/checkout/sessions"]) {
        await processor.control({ action: "faults", faults: [{ match, kind, times: 2 }] });
        expect([200, 503]).toContain((await checkout(account)).status);
        expect([200, 503]).toContain((await checkout(account)).status);
        await processor.control({ action: "faults", faults: [] });
      }
      expect((await checkout(account)).status).toBe(200);
      const { sessions } = await processor.state();
      const open = sessions.filter(
        ({ params, status }) => params["client_reference_id"] === account.user.org_id && status === "open",
      );
      // After an answer of 500 the result of the request is unknown; whatever the request created is never shown
      // to a customer.
      const shown = (await checkout(account)).body.url as string;
      expect(open.map(({ id }) => id)).toContain(shown.split("/").pop());
      expect(kind === "error_after" ? open.slice(-1) : open).toHaveLength(1);
    },
  );

  it("that refuses the key answers 502", async ({ database, processor }) => {
    const other = createTestNode(database, {
      ...billingSettings(processor),
      STRIPE_SECRET_KEY: "rk-not-a-key",
    });
    try {
      const { session_token: session } = await signUp(other);
      const answer = await other.call("POST", "/api/v1/billing/checkout", { session });
      expect(answer.status).toBe(502);
      expect(answer.body.error).toMatch(/operator must check/);
    } finally {
      await other.stop();
    }
  });
});
