import type pg from "pg";
import { bucketOf, newId } from "../../src/postgres/ids.ts";
import { tablesOfCells } from "../../src/postgres/tablePlaces.ts";
import type { Receiver } from "./receiver.ts";
import { storeDueItems } from "./storedItems.ts";
import type { Account, Answer, TestNode } from "./testNode.ts";
import { until } from "./until.ts";
import { organizationOf } from "./organization.ts";

/** The targets and items of an organization after {@link fillOrganization}. */
export interface FilledOrganization {
  account: Account;
  /** A webhook whose receiver answers 200. */
  webhook: string;
  /** A disabled webhook with a held item. */
  held: { target: string; item: string };
  /** The request of an item with an idempotency key. */
  keyed: { path: string; headers: Record<string, string>; body: object; id: string };
  mailbox: {
    id: string;
    /** Unread messages, in order. */
    unread: string[];
    /** A claimed message. */
    claimed: { id: string; claim_token: string };
    /** The request that claimed it, and its answer. */
    claim: { headers: Record<string, string>; messages: unknown };
    /** An acknowledged message, and a rejected one. */
    ended: string[];
  };
  customer: string;
  publication: string;
  /** The paths that a client can read of the organization. */
  paths: string[];
}

/** Path at which the receiver answers 503. */
export const failingPath = "/failing";

/** Fills an organization with items in every state, and all related data. */
export async function fillOrganization(
  node: TestNode,
  receiver: Receiver,
  account: Account,
): Promise<FilledOrganization> {
  const own = organizationOf(node, account, receiver);
  const make = async (fields: object): Promise<string> =>
    bodyOf(await own.call("POST", "/api/v1/targets", { name: "t", kind: "webhook", ...fields }), 200).id;
  const webhook = await make({ url: `${receiver.url}/good` });
  const failing = await make({ url: receiver.url + failingPath, retry_interval_seconds: 3_600 });
  const giving = await make({ url: receiver.url + failingPath, max_retries: 0 });
  const disabled = await make({ url: `${receiver.url}/held` });
  bodyOf(await own.call("PATCH", `/api/v1/targets/${disabled}`, { enabled: false }), 200);
  const customer = "ada";
  bodyOf(await own.call("PUT", `/api/v1/customers/${customer}`, { name: "Ada" }), 200);
  await make({ url: `${receiver.url}/customer`, customer_uid: customer });

  const keyed = { path: `/t/${webhook}`, headers: { "idempotency-key": "once" }, body: { keyed: true } };
  const first = bodyOf(await own.call("POST", keyed.path, keyed.body, keyed.headers), 202).id as string;
  const described = { "x-event-type": "order.paid", "x-correlation-id": "order-1" };
  const delivered = bodyOf(await own.call("POST", `/t/${webhook}`, { n: 1 }, described), 202).id as string;
  const retrying = await own.send(failing);
  const named = { "x-correlation-id": "to-erase" };
  const failed = bodyOf(await own.call("POST", `/t/${giving}`, { n: 2 }, named), 202).id as string;
  const item = await own.send(disabled);
  const canceled = await own.send(disabled);
  bodyOf(await own.call("POST", `/api/v1/events/${canceled}/cancel`), 200);
  const publication = bodyOf(await own.call("POST", `/p/${customer}`, { to: "all" }), 202).id as string;
  for (const [id, status] of [
    [first, "DELIVERED"],
    [delivered, "DELIVERED"],
    [retrying, "RETRYING"],
    [failed, "FAILED"],
  ] as const) {
    await own.settled(id, status);
  }
  await untilAllDelivered(own.call, publication);
  const replayed = bodyOf(await own.call("POST", `/api/v1/events/${delivered}/replay`), 202).id as string;
  await own.settled(replayed, "DELIVERED");
  const job = await replayAndErase(own.call, "to-erase");
  const mailbox = await fillMailbox(own.call, own.send, await make({ kind: "mailbox" }));
  const events = [first, delivered, retrying, failed, item, canceled, replayed];
  return {
    account,
    webhook,
    held: { target: disabled, item },
    keyed: { ...keyed, id: first },
    mailbox,
    customer,
    publication,
    paths: [
      ...events.flatMap((id) => [`/api/v1/events/${id}`, `/api/v1/events/${id}/payload`]),
      ...[webhook, failing, giving].map((id) => `/api/v1/targets/${id}`),
      ...["", "?status=DELIVERED", "?status=RETRYING", "?status=FAILED", "?status=QUEUED", "?limit=3"].map(
        (query) => `/api/v1/events${query}`,
      ),
      "/api/v1/events?event_type=order.paid",
      "/api/v1/events?correlation_id=order-1",
      "/api/v1/publications",
      `/api/v1/publications/${publication}`,
      "/api/v1/replays",
      `/api/v1/replays/${job.replay}`,
      `/api/v1/erasures/${job.erasure}`,
      `/api/v1/mailboxes/${mailbox.id}/messages`,
      `/api/v1/mailboxes/${mailbox.id}/messages?status=DEAD`,
      ...[...mailbox.unread, mailbox.claimed.id, ...mailbox.ended].map(
        (id) => `/api/v1/mailbox-messages/${id}`,
      ),
      ...["targets", "customers", "usage", "audit-log", "orgs"].map((path) => `/api/v1/${path}`),
    ],
  };
}

type Call = ReturnType<typeof organizationOf>["call"];

function untilAllDelivered(call: Call, publication: string): Promise<Answer> {
  return until(
    () => call("GET", `/api/v1/publications/${publication}`),
    ({ body }) => body.publication.items.every(({ status }: { status: string }) => status === "DELIVERED"),
  );
}

/** Resolves when the replay and the erasure have ended. */
async function replayAndErase(
  call: Call,
  correlationId: string,
): Promise<{ replay: string; erasure: string }> {
  const filter = { status: "FAILED", correlation_id: correlationId };
  const replay = bodyOf(await call("POST", "/api/v1/replays", { filter, rate_per_second: 1000 }), 202).id;
  await until(
    () => call("GET", `/api/v1/replays/${replay}`),
    ({ body }) => body.status === "DONE" && body.failed === body.replayed,
  );
  const erasure = bodyOf(await call("POST", "/api/v1/erasures", { correlation_id: correlationId }), 202).id;
  await until(
    () => call("GET", `/api/v1/erasures/${erasure}`),
    ({ body }) => body.status === "DONE",
  );
  return { replay, erasure };
}

async function fillMailbox(
  call: Call,
  send: (targetId: string) => Promise<string>,
  id: string,
): Promise<FilledOrganization["mailbox"]> {
  const sent: string[] = [];
  while (sent.length < 5) sent.push(await send(id));
  const claim = async (headers: Record<string, string>) =>
    bodyOf(
      await call("POST", `/api/v1/mailboxes/${id}/claim`, { max: 1, lease_seconds: 3_600 }, headers),
      200,
    );
  const end = async (verb: string, more: object = {}): Promise<string> => {
    const [message] = (await claim({})).messages;
    const messages = [{ id: message.id, claim_token: message.claim_token }];
    bodyOf(await call("POST", `/api/v1/mailboxes/${id}/${verb}`, { messages, ...more }), 200);
    return message.id;
  };
  const acknowledged = await end("ack");
  const dead = await end("reject", { reason: "poison" });
  const headers = { "claim-id": "claim-1" };
  const answer = await claim(headers);
  return {
    id,
    unread: sent.slice(3),
    claimed: answer.messages[0],
    claim: { headers, messages: answer.messages },
    ended: [acknowledged, dead],
  };
}

function bodyOf({ status, body }: Answer, wanted: number): Answer["body"] {
  if (status !== wanted) throw new Error(`${status} in place of ${wanted}: ${JSON.stringify(body)}`);
  return body;
}

/**
 * Stores a target with waiting items, and a row in each table that {@link fillOrganization} leaves empty at once
 * or later.
 */
export async function storeTheRest(pool: pg.Pool, orgId: string, targetId: string): Promise<void> {
  await storeDueItems(pool, { orgId, targetId, count: 3 });
  const bucket = bucketOf(targetId);
  const id = newId(bucket, Date.now());
  const later = Date.now() + 3_600_000;
  const row = {
    bucket,
    id,
    org_id: orgId,
    target_id: targetId,
    event_id: id,
    mailbox_id: targetId,
    node_id: id,
  };
  const counts = { accepted: 1, acknowledged: 0, held: 0, delivered: 0, retried: 0, failed: 0 };
  const moments = { at: 0, at_ms: 0, due_at: later, deadline_at: later, open_until: 0, until_ms: 0 };
  const rest: Record<string, object> = {
    delivered_groups: {
      last_id: id,
      event_ids: [id],
      status_codes: [200],
      durations_ms: [1],
      attempted_at: [1],
      response_bodies: ["\\x6f6b"],
    },
    message_interventions: { message_id: id, user_id: id, email: "ada@example.com", action: "force_reject" },
    mailbox_minutes: { minute: 5 },
    handoffs: { possible_duplicate: false, is_truncated: false, updated_at: 0 },
    handoff_polls: { polls: 0, missing: 0 },
    tryout_requests: { headers: "[]", body: "\\x", size: 0, is_verified: true, answered: 200 },
    open_circuits: {},
    target_paces: { next_at: 0 },
    target_shares: { requests: 1 },
    target_header_sets: { number: 1, headers: "{}" },
    activity_steps: { scope_id: targetId, step: 60, latency_ranges: [1], latency_counts: [1] },
    usage_totals: { period: 202_001, items: 7 },
    // A chore may delete some of these rows.
    usage_records: { period: 202_001, items: 1 },
    mailbox_activity: { minute: 5 },
    target_activity: {},
    published_activity: { target_ids: [targetId], accepted: [1] },
    erased_digests: {},
    operational_events: { type: "target.disabled", count: 1 },
    notification_paces: { type: "target.disabled", next_at_ms: later },
    replay_parts: { is_done: true, cursor_id: id, is_counted: true, counted: 0, counted_to: id },
    replay_pending: {},
  };
  const replay = "(select id from replays limit 1)";
  for (const [table, more] of Object.entries(rest)) {
    const stored = JSON.stringify({ ...row, ...counts, ...moments, ...more });
    const complete = `$1::jsonb || jsonb_build_object('replay_id', ${replay})`;
    await pool.query(
      `insert into ${table} select * from jsonb_populate_record(null::${table}, ${complete})`,
      [stored],
    );
  }
}

/** All rows of the cells' tables in a schema, by table, unordered. */
export async function rowsOf(pool: pg.Pool, schema: string): Promise<Map<string, StoredRow[]>> {
  const found = new Map<string, StoredRow[]>();
  for (const table of tablesOfCells) {
    const { rows } = await pool.query<{ row: StoredRow }>(
      `select to_jsonb(t) as row from ${schema}.${table} t`,
    );
    found.set(
      table,
      rows.map(({ row }) => row),
    );
  }
  return found;
}

/** A row as JSON; ids have dashes. */
export interface StoredRow {
  org_id?: string;
  bucket?: number;
}
