import { createWebhookTarget, type EventView, readEvent, sendItem, type WebhookTarget } from "./items.ts";
import type { Account, Answer, TestNode } from "./testNode.ts";
import { until } from "./until.ts";

type Service = Pick<TestNode, "call">;

/** Requests with an account's key, and readers of their results. */
export interface Organization {
  account: Account;
  call: (
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  /** Sends an item that must be accepted, and returns its id. */
  send: (targetId: string, body?: unknown) => Promise<string>;
  /** An event with its attempts. */
  read: (id: string) => Promise<EventView>;
  /** An event's status. */
  statusOf: (id: string) => Promise<string>;
  /** Waits until an event has the status, and returns the event. */
  settled: (id: string, status: string) => Promise<EventView>;
  /** Creates a webhook target with its own path. */
  newTarget: (fields?: Record<string, unknown>) => Promise<NewTarget>;
}

export interface NewTarget extends WebhookTarget {
  path: string;
}

let targets = 0;

/** An account's organization, accessed through `service`; its targets are at the receiver. */
export function organizationOf(service: Service, account: Account, receiver: { url: string }): Organization {
  const { api_key: key } = account;
  return {
    account,
    call: (method, path, body, headers = {}) =>
      service.call(method, path, { key, ...(body !== undefined && { body }), headers }),
    send: (targetId, body) => sendItem(service, account, targetId, body),
    read: (id) => readEvent(service, account, id),
    statusOf: async (id) => (await readEvent(service, account, id)).event.status,
    settled: (id, status) =>
      until(
        () => readEvent(service, account, id),
        ({ event }) => event.status === status,
      ),
    newTarget: async (fields = {}) => {
      const path = `/target-${++targets}`;
      return { ...(await createWebhookTarget(service, account, receiver.url + path, fields)), path };
    },
  };
}
