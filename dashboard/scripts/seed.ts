import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Calls the service's interface. */
export type Call = (
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  options?: { key?: string; session?: string; body?: unknown; headers?: Record<string, string> },
) => Promise<unknown>;

/** An organization with data on every page, and `stop`, which ends the receiver of its webhooks. */
export interface Seeded {
  email: string;
  password: string;
  key: string;
  /** The id of a replay job. */
  replay: string;
  /** The id of a publication to the customer shop-7. */
  publication: string;
  targets: { orders: string; ledger: string; broken: string; mailbox: string; agent?: string };
  stop(): void;
}

/** The variable parts of the seeded organization. */
export interface SeedOptions {
  /** URL of the card of an agent that follows the commands in its messages; without it, no handoffs are created. */
  agentCardUrl?: string;
  /** Number of delivered items; six more fail. */
  items?: number;
}

/** Creates an organization and fills it through the public interface. */
export async function seed(call: Call, { agentCardUrl, items = 60 }: SeedOptions = {}): Promise<Seeded> {
  const email = `ada-${Date.now()}@example.com`;
  const password = "correct horse battery";
  const { api_key: key, session_token: session } = (await call("POST", "/api/v1/auth/signup", {
    body: { email, password, name: "Ada" },
  })) as { api_key: string; session_token: string };
  const organization = { name: "Analytical Engines", secrets_can_be_revealed: true };
  await call("PATCH", "/api/v1/orgs", { session, body: organization });
  const receiver = await startReceiver();
  const make = async (body: unknown): Promise<string> =>
    ((await call("POST", "/api/v1/targets", { key, body })) as { id: string }).id;
  await Promise.all([makeCustomers(call, key), makeEventTypes(call, key)]);
  const targets: Seeded["targets"] = {
    orders: await make({
      kind: "webhook",
      name: "orders",
      uid: "shop-7-orders",
      customer_uid: "shop-7",
      metadata: { plan: "gold" },
      url: `${receiver.url}/orders`,
      rate_limit_per_second: 500,
      headers: { Authorization: "Bearer 6f1ed002ab55", "X-Tenant": { value: "shop-7", secret: false } },
    }),
    ledger: await make({
      kind: "webhook",
      name: "ledger",
      url: `${receiver.url}/ledger`,
      description: "Double entry",
    }),
    broken: await make({
      kind: "webhook",
      name: "warehouse",
      url: `${receiver.url}/broken`,
      max_retries: 1,
      retry_interval_seconds: 1,
    }),
    mailbox: await make({ kind: "mailbox", name: "support inbox", max_claims: 1 }),
  };
  const send = (targetId: string, body: unknown, headers: Record<string, string> = {}): Promise<unknown> =>
    call("POST", `/t/${targetId}`, { key, body, headers });
  await sendWebhooks(send, targets, items);
  const publication = await publish(call, key);
  await fillMailbox({ call, send, session }, targets.mailbox);
  if (agentCardUrl !== undefined) {
    targets.agent = await make({
      kind: "a2a",
      name: "table planner",
      agent_card_url: agentCardUrl,
      auth: { type: "none" },
    });
    for (const text of ["complete Book a table for four", "input Which day suits you?", "slow 600000"])
      await send(targets.agent, { text, event_type: "table.wanted" });
  }
  await call("POST", "/api/v1/notification-targets", {
    key,
    body: { target_id: targets.mailbox, event_types: ["target.disabled", "event.failed"] },
  });
  await call("POST", "/api/v1/invitations", {
    session,
    body: { role: "member", email: "grace@example.com" },
  });
  const { id: replay } = (await call("POST", "/api/v1/replays", {
    session,
    body: {
      filter: { status: "DELIVERED", target_id: targets.orders, correlation_id: "cart-1" },
      rate_per_second: 20,
    },
  })) as { id: string };
  return { email, password, key, targets, replay, publication, stop: () => void receiver.server.close() };
}

async function makeEventTypes(call: Call, key: string): Promise<void> {
  for (const [name, description, deprecated] of [
    ["order.created", "A customer placed an order.", false],
    ["order.paid", "An order was paid in full.", false],
    ["order.shipped", "A parcel left the warehouse.", true],
  ] as const)
    await call("PUT", `/api/v1/event-types/${name}`, {
      key,
      body: {
        description,
        deprecated,
        group: "Orders",
        schema: { type: "object", properties: { order: { type: "integer" } }, required: ["order"] },
        example: { event_type: name, order: 1001 },
      },
    });
}

async function makeCustomers(call: Call, key: string): Promise<void> {
  for (const [uid, name] of [
    ["shop-7", "Corner Shop GmbH"],
    ["shop-8", "Hopper & Daughters"],
    ["shop-12", "Difference Machines Ltd"],
    ["eu:berlin.0042", ""],
  ] as const)
    await call("PUT", `/api/v1/customers/${uid}`, {
      key,
      body: { name, metadata: { plan: uid === "shop-7" ? "gold" : "silver", region: "eu" } },
    });
}

async function publish(call: Call, key: string): Promise<string> {
  const { id } = (await call("POST", "/p/shop-7", {
    key,
    body: { event_type: "invoice.paid", invoice: 2001 },
    headers: { "x-correlation-id": "invoice-2001" },
  })) as { id: string };
  return id;
}

type Send = (targetId: string, body: unknown, headers?: Record<string, string>) => Promise<unknown>;

async function sendWebhooks(send: Send, targets: Seeded["targets"], count: number): Promise<void> {
  const types = ["order.created", "order.paid", "order.shipped", "customer.updated"];
  for (let number = 0; number < count; number += 1) {
    const order = {
      customer: { name: "Grace Hopper", address: { city: "Arlington", lines: ["1 Cobol Way"] } },
      event_type: types[number % types.length],
      order: 1000 + number,
      ledger_entry: `${String(number).padStart(4, "0")}-12345678901234567890`,
      paid: number % 2 === 0,
    };
    await send(number % 3 === 0 ? targets.ledger : targets.orders, order, {
      "x-correlation-id": `cart-${Math.floor(number / 4)}`,
    });
  }
  for (let number = 0; number < 6; number += 1)
    await send(targets.broken, { event_type: "stock.changed", sku: `A-${number}` });
}

interface MailboxSeed {
  call: Call;
  send: Send;
  session: string;
}

/** Messages in several states: unread, claimed by a worker, dead, acknowledged. */
async function fillMailbox({ call, send, session }: MailboxSeed, mailboxId: string): Promise<void> {
  const { key: worker } = (await call("POST", "/api/v1/keys", {
    session,
    body: { name: "night worker" },
  })) as {
    key: string;
  };
  for (let number = 0; number < 14; number += 1)
    await send(mailboxId, {
      event_type: "ticket.opened",
      ticket: 400 + number,
      subject: "Where is my parcel?",
    });
  const { messages } = (await call("POST", `/api/v1/mailboxes/${mailboxId}/claim`, {
    key: worker,
    body: { max: 6 },
  })) as { messages: { id: string; claim_token: string }[] };
  const claims = messages.map(({ id, claim_token: token }) => ({ id, claim_token: token }));
  await call("POST", `/api/v1/mailboxes/${mailboxId}/reject`, {
    key: worker,
    body: { messages: claims.slice(0, 2), reason: "the customer is unknown" },
  });
  await call("POST", `/api/v1/mailboxes/${mailboxId}/ack`, {
    key: worker,
    body: { messages: claims.slice(2, 4) },
  });
}

/** Answers 200, slowly at `/ledger`, and 503 at `/broken`. */
async function startReceiver(): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      if (request.url === "/broken")
        response.writeHead(503).end("upstream connect error: no healthy upstream");
      else setTimeout(() => response.end("ok"), request.url === "/ledger" ? 40 : 5);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}
