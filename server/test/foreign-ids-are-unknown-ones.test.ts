import { describe, expect } from "vitest";
import { sharedNodeTest } from "./support/fixtures.ts";
import { bodyOf, callRow, unknownId, rows } from "./support/routeRows.ts";
import { enterPortal } from "./support/portal.ts";
import { type Account, type Answer, type CallOptions, signUp, type TestNode } from "./support/testNode.ts";

/** Ids of another organization: every route answers them like unknown ids, and does not change what they name. */

let node: TestNode;
let caller: Account;

// Nothing is delivered, so that only requests change the organizations' data.
const it = sharedNodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8", POSTRIDER_ROLES: "api" });

interface Possessions {
  owner: Account;
  ids: Record<
    | "webhook"
    | "mailbox"
    | "event"
    | "message"
    | "key"
    | "user"
    | "invitation"
    | "customer"
    | "eventType"
    | "publication",
    string
  >;
}
let foreign: Possessions;
/** Possessions of the caller's organization outside the mailbox and the customer of its limited keys. */
let beside: Possessions;
let limited: Record<"consume" | "customer" | "portal", CallOptions>;
let before: unknown;

async function possess(owner: Account, customer: string): Promise<Possessions> {
  const key = owner.api_key;
  const make = async (path: string, body: object): Promise<string> => {
    const answer = await node.call("POST", path, { key, body });
    expect([200, 202]).toContain(answer.status);
    return answer.body.id;
  };
  await node.call("PUT", `/api/v1/customers/${customer}`, { key, body: { name: "theirs" } });
  const names = { name: "theirs", customer_uid: customer };
  const webhook = await make("/api/v1/targets", { kind: "webhook", url: "https://127.0.0.1:9/", ...names });
  const mailbox = await make("/api/v1/targets", { kind: "mailbox", ...names });
  const event = await make(`/t/${webhook}`, { private: true });
  const message = await make(`/t/${mailbox}`, { private: true });
  const { keys } = (await node.call("GET", "/api/v1/keys", { key })).body;
  const invited = await node.call("POST", "/api/v1/invitations", {
    session: owner.session_token,
    body: { role: "viewer" },
  });
  // The caller's own event types exist for its customers to read.
  if (owner !== caller) {
    await node.call("PUT", "/api/v1/event-types/their.type", { key, body: { description: "theirs" } });
  }
  const ids = {
    publication: await make(`/p/${customer}`, { private: true }),
    customer,
    eventType: "their.type",
    webhook,
    mailbox,
    event,
    message,
    key: keys[0].id,
    user: owner.user.id,
  };
  return { owner, ids: { ...ids, invitation: invited.body.id } };
}

/** All that the owner can read of its possessions. */
async function contents({ owner: { api_key: key }, ids }: Possessions): Promise<unknown> {
  const paths = [
    ...[
      "keys",
      "targets",
      "endpoints",
      "events",
      "usage",
      "orgs",
      "members",
      "invitations",
      "audit-log",
      "erasures",
      "notification-targets",
      "customers",
      "event-types",
      "event-types/their.type",
      "portal-settings",
      "publications",
    ].map((name) => `/api/v1/${name}`),
    `/api/v1/mailboxes/${ids.mailbox}/messages`,
    `/api/v1/events/${ids.event}`,
    `/api/v1/publications/${ids.publication}`,
    `/api/v1/mailbox-messages/${ids.message}`,
  ];
  const answers = await Promise.all(paths.map((path) => node.call("GET", path, { key })));
  for (const { body } of answers[0]!.body.keys === undefined ? [] : [answers[0]!]) {
    for (const one of body.keys) one.last_used_at = null;
  }
  return answers.map(({ status, body }) => ({ status, body }));
}

it.beforeAll(async ({ node: one, account }) => {
  [node, caller] = [one, account];
  foreign = await possess(await signUp(node), "theirs");
  beside = await possess(caller, "beside");
  limited = await limitedCredentials();
  before = [await contents(foreign), await contents(beside)];
});

// A PUT creates what it names, and uids of different organizations are independent.
it.each(rows.filter(({ method, path }) => path.includes("/:") && method !== "PUT"))(
  "$method $path answers them like unknown ids",
  async (row) => {
    const options =
      row.credential === "session" ? { session: caller.session_token } : { key: caller.api_key };
    for (const [kind, id] of [["unknown", unknownId], ...Object.entries(foreign.ids)] as const) {
      const body = withMessage(bodyOf(row), foreign.ids.message);
      const answer = await callRow(node, row, { ...options, ...(body && { body }) }, id);
      expect({ kind, ...refusalOf(answer) }).toEqual({ kind, status: 404, error: unknownOf(row.path, id) });
    }
  },
);

/** Credentials limited to an empty mailbox, or to a customer without items, of the caller's organization. */
async function limitedCredentials(): Promise<typeof limited> {
  const { api_key: key, session_token: session } = caller;
  await node.call("PUT", "/api/v1/customers/own", { key, body: {} });
  const mailbox = await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "own" } });
  const make = async (scope: object): Promise<CallOptions> => {
    const { status, body } = await node.call("POST", "/api/v1/keys", {
      session,
      body: { name: "k", ...scope },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return { key: body.key };
  };
  return {
    consume: await make({ scope: "consume", mailbox_ids: [mailbox.body.id] }),
    customer: await make({ scope: "customer", customer_uid: "own" }),
    portal: { session: await enterPortal(node, key, "own") },
  };
}

describe.each(["consume", "customer", "portal"] as const)("a credential limited to %s", (scope) => {
  it.each(rows.filter(({ path, takes }) => path.includes("/:") && takes.includes(scope)))(
    "$method $path answers ids out of its reach like unknown ids",
    async (row) => {
      const things = [...Object.entries(foreign.ids), ...Object.entries(beside.ids)];
      for (const [kind, id] of [["unknown", unknownId], ...things] as const) {
        const body = withMessage(bodyOf(row), beside.ids.message);
        const answer = await callRow(node, row, { ...limited[scope], ...(body && { body }) }, id);
        expect({ kind, ...refusalOf(answer) }).toEqual({ kind, status: 404, error: unknownOf(row.path, id) });
      }
    },
  );
});

/** The refusal repeats the name in the request, the same for another organization's name and an unknown one. */
function unknownOf(path: string, name: string): string {
  if (/\/customers\/:|\/p\/:/.test(path)) return `no customer ${name}`;
  return path.includes("/event-types/:") ? `no event type ${name}` : "not found";
}

/** Puts the given id into a body that names messages. */
function withMessage(body: object | undefined, id: string): object | undefined {
  if (body === undefined || !("messages" in body)) return body;
  return { ...body, messages: [{ id, claim_token: unknownId }] };
}

/** The refusal of the whole request, or of the one message that the request named. */
function refusalOf({ status, body }: Answer): { status: number; error: string } {
  const { results } = body;
  return Array.isArray(results)
    ? { status: results[0].status, error: results[0].error }
    : { status, ...body };
}

it.each(["endpoint_id", "target_id", "before"])("match nothing as the filter %s", async (filter) => {
  for (const id of [unknownId, foreign.ids.webhook, foreign.ids.mailbox, foreign.ids.event]) {
    const answer = await node.call("GET", `/api/v1/events?${filter}=${id}`, { key: caller.api_key });
    expect(answer).toMatchObject({ status: 200, body: { events: [] } });
  }
});

it("do not change what they name", async () => {
  expect([await contents(foreign), await contents(beside)]).toEqual(before);
});
