import { pagePaths, portalPaths } from "../src/http/dashboard.ts";
import { describe, expect } from "vitest";
import { type Role, roles } from "../src/http/contract/access.ts";
import { join } from "./support/members.ts";
import { enterPortal } from "./support/portal.ts";
import { callRow, type Row, rows } from "./support/routeRows.ts";
import { type Account, type Answer, type CallOptions, signUp, type TestNode } from "./support/testNode.ts";
import { sharedNodeTest } from "./support/fixtures.ts";

/** The service under test; `other` is a second process, on which credentials are revoked. */
let node: TestNode;
let other: TestNode;
let caller: Account;
let revoked: { key: string; session: string };

// No dispatcher runs, so that only requests change the organization's data.
const it = sharedNodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8", POSTRIDER_ROLES: "api" });

/** Credentials that are accepted, alone or together in one request. */
const taken: Record<Row["credential"], ("key" | "session")[][]> = {
  none: [],
  session: [["session"], ["session", "key"]],
  apiKey: [["key"], ["key", "session"]],
  apiKeyInSql: [["key"], ["key", "session"]],
  either: [["key"], ["session"]],
  portal: [],
};

/** Valid credentials of the wrong kind. */
const refused: Record<Row["credential"], ("key" | "session")[]> = {
  none: [],
  session: ["key"],
  apiKey: ["session"],
  apiKeyInSql: ["session"],
  either: [],
  portal: ["key", "session"],
};

const wrong = { key: `ak_live_${"0".repeat(64)}`, session: `ses_${"0".repeat(64)}` };

it.beforeAll(async ({ node: one, other: another, account }) => {
  [node, other, caller] = [one, another, account];
  revoked = await makeAndRevoke(caller);
});

/** Creates a key and a session, uses them on this node, and ends them on another. */
async function makeAndRevoke(account: Account): Promise<{ key: string; session: string }> {
  const { user, password, api_key: key, session_token: session } = account;
  const made = await node.call("POST", "/api/v1/keys", { session, body: { name: "revoked" } });
  const login = await node.call("POST", "/api/v1/auth/login", { body: { email: user.email, password } });
  const former = { key: made.body.key as string, session: login.body.session_token as string };
  for (const one of [{ key: former.key }, { session: former.session }]) {
    expect((await node.call("GET", "/api/v1/auth/me", one)).status).toBe(200);
  }
  await other.call("DELETE", `/api/v1/keys/${made.body.id}`, { key });
  await other.call("POST", "/api/v1/auth/logout", { session: former.session });
  return former;
}

function call(row: Row, options: CallOptions): Promise<Answer> {
  return callRow(node, row, options);
}

/** Requests without a valid credential. */
const nobodys: readonly [string, () => CallOptions][] = [
  ["no credential", () => ({})],
  ["an unknown key", () => ({ key: wrong.key })],
  ["an unknown session", () => ({ session: wrong.session })],
  ["a revoked key", () => ({ key: revoked.key })],
  ["a revoked session", () => ({ session: revoked.session })],
  ["an unknown key beside an unknown session", () => wrong],
  ["a key as a session", () => ({ session: caller.api_key })],
  ["a session as a key", () => ({ key: caller.session_token })],
  ["a key under another scheme", () => ({ headers: { authorization: `Basic ${caller.api_key}` } })],
  ["a key in upper case", () => ({ key: caller.api_key.toUpperCase() })],
  ["half a key", () => ({ key: caller.api_key.slice(0, 40) })],
  ["an empty session", () => ({ session: "" })],
];

/** An organization with a session of each role. */
interface Staff {
  owner: Account;
  sessions: Record<Role, string>;
}

let staff: Staff | undefined;

/** Returns the same organization for all rows, until a call has ended one of its credentials. */
async function wholeStaff(): Promise<Staff> {
  if (staff !== undefined) {
    const credentials = [
      { key: staff.owner.api_key },
      ...Object.values(staff.sessions).map((session) => ({ session })),
    ];
    const answers = await Promise.all(credentials.map((one) => node.call("GET", "/api/v1/auth/me", one)));
    if (answers.every(({ status }) => status === 200)) return staff;
  }
  const owner = await signUp(node);
  const sessions = {
    viewer: (await join(node, owner, "viewer")).session_token,
    member: (await join(node, owner, "member")).session_token,
    admin: owner.session_token,
  };
  staff = { owner, sessions };
  return staff;
}

/** An open stream has no end; an invalid filter is refused after authentication, which ends the answer. */
function ending(row: Row): Row {
  return row.path === "/api/v1/stream" ? { ...row, path: "/api/v1/stream?types=none" } : row;
}

describe.each(rows.filter(({ credential }) => credential !== "none"))(
  "$method $path ($credential)",
  (row) => {
    it("answers 401 without a valid credential", async () => {
      for (const [what, options] of nobodys) {
        const { status, body } = await call(row, options());
        expect({ what, status, body }).toEqual({ what, status: 401, body: { error: "unauthorized" } });
      }
    });

    it.each(refused[row.credential])("a %s: 403 that names the required credential", async (kind) => {
      const options = kind === "key" ? { key: caller.api_key } : { session: caller.session_token };
      const answer = await call(row, options);
      const needed = row.credential === "portal" ? "portal" : kind === "key" ? "X-Session-Token" : "API key";
      expect(answer).toMatchObject({ status: 403, body: { error: expect.stringContaining(needed) } });
    });

    it("accepts the kinds of credentials in its record", async () => {
      for (const kinds of taken[row.credential]) {
        const { api_key: key, session_token: session } = (await wholeStaff()).owner;
        const options = {
          ...(kinds.includes("key") && { key }),
          ...(kinds.includes("session") && { session }),
        };
        const answer = await call(ending(row), options);
        expect({ kinds, isRefused: isRefusedAtTheDoor(answer) }).toEqual({ kinds, isRefused: false });
        // A cache between client and service would give the answer to others.
        const isOfSession = kinds[0] === "session";
        expect(answer.headers["cache-control"]).toBe(isOfSession ? "no-store" : undefined);
      }
    });
  },
);

/** A wrong current password is refused only after authentication. */
function isRefusedAtTheDoor({ status, headers }: Answer): boolean {
  return status === 401 || (status === 403 && headers["x-error-code"] !== "password_wrong");
}

const letIn = { code: undefined, error: undefined };

function refusalOfDoor({ headers, body }: Answer): { code: unknown; error: unknown } {
  return { code: headers["x-error-code"], error: body.error };
}

function tooLow(least: Role, role: Role): { code: unknown; error: unknown } {
  return { code: "role_too_low", error: `this route needs the role ${least}, and your role is ${role}` };
}

describe.each(rows.filter(({ least }) => least !== undefined))(
  "$method $path accepts sessions from the role $least upward",
  (row) => {
    it("and refuses lower roles", async () => {
      const { sessions } = await wholeStaff();
      for (const role of roles) {
        const answer = await call(ending(row), { session: sessions[role] });
        const isAllowed = roles.indexOf(role) >= roles.indexOf(row.least!);
        const { code, error } = isRefusedAtTheDoor(answer) ? refusalOfDoor(answer) : letIn;
        const expected = isAllowed ? letIn : tooLow(row.least!, role);
        expect({ role, code, error }).toEqual({ role, ...expected });
      }
    });
  },
);

/** Limited credentials, each for existing things: keys, and a customer's session. */
async function limitedCredentials(): Promise<Record<string, CallOptions>> {
  const { session_token: session, api_key: key } = await signUp(node);
  await node.call("PUT", "/api/v1/customers/own", { key, body: {} });
  const mailbox = await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "own" } });
  const scopes = [
    { scope: "send" },
    { scope: "read" },
    { scope: "consume", mailbox_ids: [mailbox.body.id] },
    { scope: "customer", customer_uid: "own" },
  ];
  const credentials: Record<string, CallOptions> = {};
  for (const scope of scopes) {
    const { status, body } = await node.call("POST", "/api/v1/keys", {
      session,
      body: { name: "k", ...scope },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    credentials[scope.scope] = { key: body.key };
  }
  return { ...credentials, portal: { session: await enterPortal(node, key, "own") } };
}

/** Whether the route accepts no credential of this kind, limited or not. */
function isOtherKind({ credential }: Row, scope: string): boolean {
  return (
    credential !== "either" && scope !== "portal" && (credential === "session" || credential === "portal")
  );
}

describe("limited credentials", () => {
  it("are accepted where the route's record says so, and refused by every other route", async () => {
    let credentials = await limitedCredentials();
    const found: string[] = [];
    const expected: string[] = [];
    const misnamed: string[] = [];
    for (const row of rows.filter(({ credential }) => credential !== "none")) {
      const route = `${row.method} ${row.path}`;
      for (const scope of Object.keys(credentials)) {
        const answer = await call(ending(row), credentials[scope]!);
        const code = answer.headers["x-error-code"];
        const isRefused = answer.status === 403 && (code === "scope_refused" || isOtherKind(row, scope));
        const isCalledACustomers = code === "scope_refused" && /a customer's/.test(String(answer.body.error));
        if (scope === "portal" && isRefused && !isCalledACustomers)
          misnamed.push(`${route}: ${String(code)} ${String(answer.body.error)}`);
        // No other refusal is possible: things out of reach are answered like unknown ones.
        expect([401, 403].includes(answer.status), `${route} with ${scope}: ${answer.status}`).toBe(
          isRefused,
        );
        if (!isRefused) found.push(`${route}: ${scope}`);
        // This request ended the session, so new credentials are needed.
        if (route === "DELETE /api/v1/portal/session") credentials = await limitedCredentials();
      }
      for (const scope of row.takes) expected.push(`${route}: ${scope}`);
    }
    expect(misnamed).toEqual([]);
    expect(found.toSorted()).toEqual(expected.toSorted());
  });
});

describe("routes without a credential", () => {
  it.each(rows.filter(({ credential }) => credential === "none"))("$method $path", async (row) => {
    const plain = await call(row, {});
    expect((await call(row, wrong)).status).toBe(plain.status);
  });
});

describe("the table", () => {
  const withCredential = (wanted: string): string[] =>
    rows.filter(({ credential }) => credential === wanted).map(({ method, path }) => `${method} ${path}`);

  it("allows no unauthenticated route that the interface does not have", () => {
    expect(withCredential("none")).toEqual([
      "POST /api/v1/auth/signup",
      "POST /api/v1/auth/login",
      "POST /api/v1/auth/password-reset",
      "POST /api/v1/auth/password-reset/confirm",
      "POST /api/v1/portal/sessions",
      "POST /a2a/notifications/:token",
      "POST /api/v1/invitations/accept",
      "POST /api/v1/billing/webhook",
      "GET /healthz",
      "GET /readyz",
      "GET /metrics",
    ]);
  });

  it("requires a session for actions that a leaked key must not allow", () => {
    expect(withCredential("session")).toEqual(
      expect.arrayContaining([
        "POST /api/v1/auth/logout",
        "POST /api/v1/auth/password",
        "POST /api/v1/keys",
        "POST /api/v1/targets/:id/signing-secret/reveal",
        "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-release",
        "POST /api/v1/mailboxes/:mailbox_id/messages/:message_id/force-reject",
        "PATCH /api/v1/members/:id",
        "DELETE /api/v1/members/:id",
        "POST /api/v1/invitations",
        "DELETE /api/v1/invitations/:id",
        "GET /api/v1/billing",
        "POST /api/v1/billing/checkout",
        "GET /api/v1/billing/portal",
        "GET /api/v1/billing/invoices",
        "GET /api/v1/billing/reconciliation",
      ]),
    );
  });

  it("requires an API key for items and for claims, which belong to keys", () => {
    const ofConsumers = ["claim", "ack", "extend", "release", "reject"];
    expect(withCredential("apiKeyInSql")).toEqual(
      expect.arrayContaining([
        "POST /t/:target_id",
        "POST /e/:endpoint_id",
        "POST /p/:customer",
        "POST /p",
        "POST /api/v1/mailbox-messages/:message_id/claim",
        "POST /api/v1/mailbox-messages/:message_id/ack",
        ...ofConsumers.map((verb) => `POST /api/v1/mailboxes/:mailbox_id/${verb}`),
      ]),
    );
    // An agent's tools claim messages as well.
    expect(withCredential("apiKey")).toEqual(["POST /mcp"]);
  });

  it("limits a sending key to sending, and lets a reading key change nothing", () => {
    const taking = (scope: Row["takes"][number]) => rows.filter(({ takes }) => takes.includes(scope));
    expect(taking("send").map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /api/v1/auth/me",
      "POST /t/:target_id",
      "POST /e/:endpoint_id",
      "POST /p/:customer",
      "POST /p",
      "POST /mcp",
    ]);
    const changing = taking("read").filter(({ method }) => method !== "GET");
    expect(changing.map(({ path }) => path)).toEqual(["/api/v1/filters/try", "/mcp"]);
  });

  it("accepts no limited credential where an admin is needed, except a reading key", () => {
    const forAdmins = rows.filter(({ least }) => least === "admin");
    expect(new Set(forAdmins.flatMap(({ takes }) => takes))).toEqual(new Set(["read"]));
  });

  it("requires a customer's session for routes about that session", () => {
    expect(withCredential("portal")).toEqual(["GET /api/v1/portal", "DELETE /api/v1/portal/session"]);
  });

  it("lists every route of the service", async () => {
    const inTable = new Set(rows.map(({ method, path }) => `${method} ${path}`));
    const documentation = /^GET (\/docs|\/openapi\.json$)/;
    // 405 without authentication, as MCP requires.
    const refused = /^(GET|DELETE) \/mcp$/;
    // Pages and files, which need no credential and contain no data.
    const dashboard = new Set(
      ["/*", ...pagePaths, ...portalPaths].map((path) => `GET ${path.replace(/(?<=.)\/\*$/, "*")}`),
    );
    const file = /^GET \/(assets\/[^/]+|index\.html|theme\.js|mark\.svg|\.vite\/manifest\.json)$/;
    const served = servedRoutes(node.service.app.printRoutes({ commonPrefix: false }));
    expect(served.length).toBeGreaterThanOrEqual(rows.length);
    const unlisted = served.filter(
      (route) =>
        !inTable.has(route) &&
        !refused.test(route) &&
        !documentation.test(route) &&
        !dashboard.has(route) &&
        !file.test(route),
    );
    expect(unlisted).toEqual([]);
  });

  /** Parses the routes from Fastify's printed tree, in which the indentation of a line is its depth. */
  function servedRoutes(tree: string): string[] {
    const prefixes: string[] = [];
    return tree.split("\n").flatMap((line) => {
      const match = /^(.*── )(\S*) ?(?:\(([A-Z, ]+)\))?/.exec(line);
      if (match === null) return [];
      const depth = match[1]!.length / 4;
      const path = (depth === 1 ? "" : prefixes[depth - 1]!) + match[2]!;
      prefixes[depth] = path;
      const methods = match[3]?.split(", ") ?? [];
      return methods.filter((method) => method !== "HEAD").map((method) => `${method} ${path}`);
    });
  }
});
