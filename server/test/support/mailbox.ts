import { type Account, type Answer, type CallOptions, signUp, type TestNode } from "./testNode.ts";

/** A mailbox with its account, and the calls of its consumers. */
export interface TestMailbox {
  id: string;
  account: Account;
  /** Sends an item that must be accepted; returns its id. */
  send(payload: unknown, headers?: Record<string, string>): Promise<string>;
  /** `POST /api/v1/mailboxes/:id/<verb>`. */
  post(verb: string, body?: unknown, options?: CallOptions): Promise<Answer>;
  list(query?: string): Promise<{ id: string; status: string }[]>;
  /** `POST /api/v1/mailbox-messages/:id/<verb>`. */
  one(id: string, verb: "claim" | "ack", body?: unknown, key?: string): Promise<Answer>;
  read(id: string): Promise<Answer>;
  stats(): Promise<Record<string, number | null>>;
  /** Creates another API key of the same organization. */
  newKey(): Promise<string>;
}

/** Creates a mailbox, in a new organization unless one is given. */
export async function createMailbox(
  node: TestNode,
  fields: Record<string, unknown> = {},
  account?: Account,
): Promise<TestMailbox> {
  const owner = account ?? (await signUp(node));
  const { api_key: key } = owner;
  const created = await node.call("POST", "/api/v1/targets", {
    key,
    body: { kind: "mailbox", name: "box", ...fields },
  });
  if (created.status !== 200) throw new Error(`create: ${created.status} ${JSON.stringify(created.body)}`);
  const { id } = created.body;
  return {
    id,
    account: owner,
    async send(payload, headers = {}) {
      const { status, body } = await node.call("POST", `/t/${id}`, { key, body: payload, headers });
      if (status !== 202) throw new Error(`send: ${status} ${JSON.stringify(body)}`);
      return body.id;
    },
    post: (verb, body, options = {}) =>
      node.call("POST", `/api/v1/mailboxes/${id}/${verb}`, {
        key,
        ...(body !== undefined && { body }),
        ...options,
      }),
    async list(query = "") {
      const { status, body } = await node.call("GET", `/api/v1/mailboxes/${id}/messages${query}`, { key });
      if (status !== 200) throw new Error(`list: ${status} ${JSON.stringify(body)}`);
      return body.messages;
    },
    one: (message, verb, body, otherKey = key) =>
      node.call("POST", `/api/v1/mailbox-messages/${message}/${verb}`, {
        key: otherKey,
        ...(body !== undefined && { body }),
      }),
    read: (message) => node.call("GET", `/api/v1/mailbox-messages/${message}`, { key }),
    async stats() {
      const { status, body } = await node.call("GET", `/api/v1/mailboxes/${id}/stats`, { key });
      if (status !== 200) throw new Error(`stats: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    async newKey() {
      const { body } = await node.call("POST", "/api/v1/keys", {
        session: owner.session_token,
        body: { name: "consumer" },
      });
      return body.key;
    },
  };
}
