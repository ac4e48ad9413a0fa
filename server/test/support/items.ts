import type { ServiceProcess } from "./serviceProcess.ts";
import type { Account, Answer } from "./testNode.ts";

type Caller = Pick<ServiceProcess, "call">;

export interface WebhookTarget {
  id: string;
  secret: string;
}

/** Creates a webhook target; `fields` are further fields of the interface. */
export async function createWebhookTarget(
  service: Caller,
  account: Pick<Account, "api_key">,
  url: string,
  fields: Record<string, unknown> = {},
): Promise<WebhookTarget> {
  const answer = await service.call("POST", "/api/v1/targets", {
    key: account.api_key,
    body: { kind: "webhook", name: "receiver", url, ...fields },
  });
  if (answer.status !== 200) throw new Error(`target: ${answer.status} ${JSON.stringify(answer.body)}`);
  return { id: answer.body.id, secret: answer.body.secret };
}

/** Creates a mailbox target, and returns its id. */
export async function createMailboxTarget(
  service: Caller,
  { api_key: key }: Pick<Account, "api_key">,
  fields: Record<string, unknown> = {},
): Promise<string> {
  const body = { kind: "mailbox", name: "inbox", ...fields };
  const answer = await service.call("POST", "/api/v1/targets", { key, body });
  return idOf("target", answer, 200);
}

function idOf(thing: string, { status, body }: Answer, wanted: number): string {
  if (status !== wanted) throw new Error(`${thing}: ${status} ${JSON.stringify(body)}`);
  return body.id;
}

/** Sends an item that must be accepted, and returns its id. */
export async function sendItem(
  service: Caller,
  account: Pick<Account, "api_key">,
  targetId: string,
  body: unknown = { hello: "world" },
): Promise<string> {
  const answer = await service.call("POST", `/t/${targetId}`, { key: account.api_key, body });
  return idOf("item", answer, 202);
}

/** Sends `count` items, several at a time, and returns their ids. */
export async function sendItems(
  service: Caller,
  account: Pick<Account, "api_key">,
  targetId: string,
  count: number,
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < count) ids.push(await sendItem(service, account, targetId, { number: next++ }));
  };
  await Promise.all(Array.from({ length: Math.min(32, count) }, sender));
  return ids;
}

export interface EventView {
  event: {
    id: string;
    status: string;
    retry_count: number;
    max_retries: number;
    webhook_id: string;
    next_attempt_at: number | null;
    replayed_by: { id: string; status: string } | null;
  };
  delivery_attempts: {
    status_code: number;
    duration_ms: number;
    error: string | null;
    attempted_at: number;
  }[];
}

/** An event with its attempts, as its owner reads it. */
export async function readEvent(
  service: Caller,
  account: Pick<Account, "api_key">,
  id: string,
): Promise<EventView> {
  const answer = await service.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
  if (answer.status !== 200) throw new Error(`event: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

interface ListedEvent {
  id: string;
  status: string;
}

/** Every event that a filter such as `status=DELIVERED` lists, page by page. */
export async function listEvents(
  service: Caller,
  { api_key: key }: Pick<Account, "api_key">,
  filter: string = "",
): Promise<ListedEvent[]> {
  const events: ListedEvent[] = [];
  for (;;) {
    const before = events.length === 0 ? "" : `&before=${events.at(-1)!.id}`;
    const answer = await service.call("GET", `/api/v1/events?limit=100&${filter}${before}`, { key });
    if (answer.status !== 200) throw new Error(`events: ${answer.status} ${JSON.stringify(answer.body)}`);
    events.push(...answer.body.events);
    if (answer.body.events.length < 100) return events;
  }
}

/** Number of items that the organization is charged for in this month. */
export async function acceptedEvents(service: Caller, account: Pick<Account, "api_key">): Promise<number> {
  const answer = await service.call("GET", "/api/v1/usage", { key: account.api_key });
  if (answer.status !== 200) throw new Error(`usage: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.usage.accepted_events;
}
