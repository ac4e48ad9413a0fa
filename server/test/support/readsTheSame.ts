import { expect } from "vitest";
import type { FilledOrganization } from "./filledDatabase.ts";
import { acceptedEvents, type EventView, readEvent, sendItem } from "./items.ts";
import type { ServiceProcess } from "./serviceProcess.ts";
import type { Answer, TestNode } from "./testNode.ts";
import { until } from "./until.ts";

/** The query of a fixed range of statistics around the current hour. */
export function rangeOfStats(): string {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600;
  return `from=${hour - 3_600}&to=${hour + 3_600}&step=60`;
}

/** Reads all paths of an organization. */
export async function readAll(
  service: Pick<TestNode, "call">,
  { account, paths }: FilledOrganization,
  range: string,
): Promise<Record<string, Pick<Answer, "status" | "body">>> {
  const answers: Record<string, Pick<Answer, "status" | "body">> = {};
  for (const path of [...paths, `/api/v1/stats?${range}`]) {
    const { status, body } = await service.call("GET", path, { session: account.session_token });
    answers[path] = { status, body };
  }
  return answers;
}

/**
 * Expects that promises from before the rows were moved are kept (idempotency keys, held items, messages), and
 * that new items follow the old ones.
 */
export async function goesOn(service: ServiceProcess, organization: FilledOrganization): Promise<void> {
  const { account, keyed, mailbox, held, customer } = organization;
  const { api_key: key } = account;
  const accepted = await acceptedEvents(service, account);
  const again = await service.call("POST", keyed.path, { key, body: keyed.body, headers: keyed.headers });
  expect(again).toMatchObject({
    status: 202,
    body: { id: keyed.id },
    headers: { "idempotency-replayed": "true" },
  });

  const box = (verb: string, body: object, headers = {}) =>
    service.call("POST", `/api/v1/mailboxes/${mailbox.id}/${verb}`, { key, body, headers });
  const repeated = await box("claim", { max: 1, lease_seconds: 3_600 }, mailbox.claim.headers);
  expect(repeated.body.messages).toEqual(mailbox.claim.messages);
  const { id, claim_token } = mailbox.claimed;
  const acknowledged = await box("ack", { messages: [{ id, claim_token }] });
  expect(acknowledged.body.results).toEqual([expect.objectContaining({ id, status: 200 })]);
  const newest = await sendItem(service, account, mailbox.id);
  const claimed = await box("claim", { max: 10 });
  expect(claimed.body.messages.map((message: { id: string }) => message.id)).toEqual([
    ...mailbox.unread,
    newest,
  ]);

  await service.call("PATCH", `/api/v1/targets/${held.target}`, { key, body: { enabled: true } });
  const published = await service.call("POST", `/p/${customer}`, { key, body: { to: "all" } });
  expect(published.status).toBe(202);
  const isDelivered = ({ event }: EventView): boolean => event.status === "DELIVERED";
  await until(() => readEvent(service, account, held.item), isDelivered);
  expect(await acceptedEvents(service, account)).toBe(accepted + 2);
}
