import type { ApiClient } from "../demo/apiClient.ts";
import type { Endpoints } from "./endpoints.ts";

interface Saas {
  api: ApiClient;
  endpoints: Endpoints;
  say: (line: string) => void;
}

interface Publication {
  id: string;
  items: { id: string; target_id: string }[];
}

const customers = 50;
const waitLimitMs = 60_000;

/** Plays the story once, and prints the result of each step. @throws when a step has an unexpected result. */
export async function playSaas({ api, endpoints, say }: Saas): Promise<void> {
  const email = `saas-${Date.now()}@example.com`;
  const { json: account } = await api.post("/api/v1/auth/signup", {
    email,
    password: "correct horse battery",
  });
  api.useKey(account["api_key"] as string);

  const count = await makeCustomers({ api, endpoints });
  say(`${customers} customers with ${count} webhooks`);

  endpoints.setDown("shop-7-invoices", true);
  const published: Publication[] = [];
  for (let shop = 1; shop <= customers; shop++) published.push(await tell(api, shop));
  const items = published.reduce((sum, { items: made }) => sum + made.length, 0);
  await endpoints.delivered(items - 1);
  say(`${customers} calls told them of ${customers} invoices: ${items} deliveries, one of which failed`);

  const repeated = await tell(api, 7);
  expect(repeated.id === published[6]!.id, "the repeated call made another publication");
  say("the same call once more, as after a crash, sent nothing twice");

  const failed = await untilFailed(api, repeated.id);
  say(`of shop-7's publication, the item ${failed} failed: its webhook is mended, and gets it once more`);
  endpoints.setDown("shop-7-invoices", false);
  await api.post(`/api/v1/publications/${repeated.id}/replay`, { to: "failed" });
  await endpoints.delivered(items);

  await makeWebhook({ api, endpoints }, "shop-7", { name: "shop-7-archive" });
  const { json: added } = await api.post(`/api/v1/publications/${repeated.id}/replay`, { to: "added" });
  expect((added["items"] as unknown[]).length === 1, "the added webhook got no item");
  await endpoints.delivered(items + 1);
  say("a webhook that shop-7 added since got it, too");
}

/** Creates 50 customers with 99 webhooks: each customer has one for all events, and all but one have a second for invoices. */
async function makeCustomers(saas: Pick<Saas, "api" | "endpoints">): Promise<number> {
  let count = 0;
  for (let shop = 1; shop <= customers; shop++) {
    const uid = `shop-${shop}`;
    await saas.api.put(`/api/v1/customers/${uid}`, { name: `Shop ${shop}` });
    await makeWebhook(saas, uid, { name: `${uid}-all` });
    count++;
    if (shop === customers) continue;
    await makeWebhook(saas, uid, { name: `${uid}-invoices`, event_types: ["invoice.*"] });
    count++;
  }
  return count;
}

async function makeWebhook(
  { api, endpoints }: Pick<Saas, "api" | "endpoints">,
  customer: string,
  fields: { name: string; event_types?: string[] },
): Promise<void> {
  const target = {
    kind: "webhook",
    url: endpoints.urlOf(fields.name),
    customer_uid: customer,
    uid: fields.name,
    max_retries: 0,
    ...fields,
  };
  const { json } = await api.post("/api/v1/targets", target);
  endpoints.trust(fields.name, json["secret"] as string);
}

/** Publishes one event. Postrider finds the webhooks to send to, and the idempotency key makes the call safe to repeat. */
async function tell(api: ApiClient, shop: number): Promise<Publication> {
  const event = { event_type: "invoice.paid", invoice: 1000 + shop };
  const { json } = await api.post(`/p/shop-${shop}`, event, { "idempotency-key": `invoice-${1000 + shop}` });
  return json as unknown as Publication;
}

/** Waits for a failed item, and returns its id. */
async function untilFailed(api: ApiClient, publication: string): Promise<string> {
  const deadline = performance.now() + waitLimitMs;
  while (performance.now() < deadline) {
    const { json } = await api.get(`/api/v1/publications/${publication}`);
    const { items } = json["publication"] as { items: { id: string; status: string }[] };
    const failed = items.find(({ status }) => status === "FAILED");
    if (failed !== undefined) return failed.id;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("no item failed within a minute");
}

function expect(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
