import { describe, expect, vi } from "vitest";
import { billingSettings } from "./support/billing/settings.ts";
import { createMailboxTarget, listEvents } from "./support/items.ts";
import { type ServiceProcess, startService } from "./support/serviceProcess.ts";
import { type StandInAccount } from "./support/stripeStandIn/client.ts";
import { signUp } from "./support/testNode.ts";
import { file, databaseTest } from "./support/fixtures.ts";

/* The whole service is killed by SIGKILL at the moments that matter for billing. */

const it = databaseTest().extend(
  "start",
  file,
  ({ database }) =>
    async (processor: StandInAccount): Promise<ServiceProcess> => {
      const service = await startService({
        storage: { databaseUrl: database.url },
        env: billingSettings(processor),
      });
      const url = `${service.url}/api/v1/billing/webhook`;
      await processor.control({
        action: "webhooks",
        url,
        secrets: processor.config.webhookSecrets,
        mode: "send",
      });
      return service;
    },
);

const patience = { timeout: 60_000, interval: 50 };

interface Customer {
  session: string;
  key: string;
  mailbox: string;
}

async function subscribe(service: ServiceProcess, processor: StandInAccount): Promise<Customer> {
  const { session_token: session } = await signUp(service);
  const page = await service.call("POST", "/api/v1/billing/checkout", { session });
  expect(page).toMatchObject({ status: 200 });
  await processor.control({ action: "pay page", session: page.body.url.split("/").pop() });
  const key = await vi.waitFor(async () => {
    const created = await service.call("POST", "/api/v1/keys", { session, body: { name: "k" } });
    expect(created.status).toBe(200);
    return created.body.key as string;
  }, patience);
  return { session, key, mailbox: await createMailboxTarget(service, { api_key: key }) };
}

async function send(service: ServiceProcess, { key, mailbox }: Customer, count: number): Promise<void> {
  for (let item = 0; item < count; item++) {
    expect((await service.call("POST", `/t/${mailbox}`, { key, body: { item } })).status).toBe(202);
  }
}

function reconciliation(service: ServiceProcess, { session }: Customer): Promise<{ body: unknown }> {
  return service.call("GET", "/api/v1/billing/reconciliation", { session });
}

describe("an exporter that is killed", () => {
  it.for([
    ["between writing a batch down and sending it", "hang_before"],
    ["between sending a batch and hearing of it", "hang_after"],
  ] as const)("%s reports each item to the processor exactly once", async ([, kind], { standIn, start }) => {
    const processor = standIn.account(`crash_${kind}`);
    const first = await start(processor);
    const customer = await subscribe(first, processor);
    await processor.control({ action: "faults", faults: [{ match: "meter_events", kind, times: 1 }] });
    await send(first, customer, 7);
    await vi.waitFor(async () => {
      const { requests } = await processor.state();
      expect(requests["POST /v1/billing/meter_events"]).toBe(1);
    }, patience);
    first.kill("SIGKILL");
    await first.ended;
    const second = await start(processor);
    try {
      await send(second, customer, 2);
      await vi.waitFor(
        async () =>
          expect((await reconciliation(second, customer)).body).toMatchObject({
            status: "reconciled",
            accepted_events: 9,
            pending_meter_events: 0,
            processor_events: 9,
          }),
        patience,
      );
    } finally {
      await second.stop();
    }
  });
});

describe("the ledger", () => {
  it("equals the accepted items after a kill during acceptance", async ({ standIn, start }) => {
    const processor = standIn.account("crash_ledger");
    const first = await start(processor);
    const customer = await subscribe(first, processor);
    let answered = 0;
    const senders = Array.from({ length: 16 }, async () => {
      for (;;) {
        const { key, mailbox } = customer;
        const { status } = await first.call("POST", `/t/${mailbox}`, { key, body: { some: "item" } });
        if (status === 202) answered++;
      }
    });
    await vi.waitFor(() => expect(answered).toBeGreaterThan(200), patience);
    first.kill("SIGKILL");
    await Promise.allSettled(senders);
    const second = await start(processor);
    try {
      const { length: stored } = await listEvents(second, { api_key: customer.key });
      expect(stored).toBeGreaterThanOrEqual(answered);
      await vi.waitFor(
        async () =>
          expect((await reconciliation(second, customer)).body).toMatchObject({
            status: "reconciled",
            accepted_events: stored,
            processor_events: stored,
          }),
        patience,
      );
    } finally {
      await second.stop();
    }
  });
});
