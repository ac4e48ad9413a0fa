import { describe, expect } from "vitest";
import { entries } from "./support/auditLog.ts";
import { file, startedNodeTest } from "./support/fixtures.ts";
import type { Answer } from "./support/testNode.ts";
import { countLockWaits, holdTable } from "./support/heldLocks.ts";
import { placesOfText } from "./support/placesOfText.ts";
import { makeOlder } from "./support/passedTime.ts";
import { until } from "./support/until.ts";

/** Two customers of one organization, and the portal session of one of them. */
const it = startedNodeTest({ POSTRIDER_PUBLIC_URL: "https://hooks.example.com/in" })
  .extend("shops", file, async ({ call, receiver }) => {
    const make = async (uid: string) => {
      await call("PUT", `/api/v1/customers/${uid}`, { name: uid === "own" ? "" : "Other" });
      const fields = { name: uid, customer_uid: uid, uid: `${uid}-hook`, metadata: { margin: "thin" } };
      const target = { kind: "webhook", url: `${receiver.url}/${uid}`, ...fields };
      const webhook: string = (await call("POST", "/api/v1/targets", target)).body.id;
      const box = { kind: "mailbox", name: uid, customer_uid: uid };
      const mailbox: string = (await call("POST", "/api/v1/targets", box)).body.id;
      const event: string = (await call("POST", `/t/${webhook}`, { of: uid })).body.id;
      return { webhook, mailbox, event };
    };
    return { own: await make("own"), other: await make("other") };
  })
  .extend("linkCode", file, ({ call }) => async (uid: string): Promise<string> => {
    const { status, body } = await call("POST", `/api/v1/customers/${uid}/portal-links`);
    expect(status, JSON.stringify(body)).toBe(200);
    return /#code=(plc_[0-9a-f]{64})$/.exec(body.url)![1]!;
  })
  .extend("exchange", file, ({ node }) => (code: string): Promise<Answer> => {
    return node.call("POST", "/api/v1/portal/sessions", { body: { code } });
  })
  .extend("enter", file, ({ node, linkCode, exchange }) => async (uid: string) => {
    const session: string = (await exchange(await linkCode(uid))).body.session_token;
    const as = (
      method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
      path: string,
      body?: object,
    ): Promise<Answer> => node.call(method, path, { session, ...(body && { body }) });
    return as;
  });

const unknown = { status: 404, body: { error: "not found" } };
const noCustomer = { status: 404, body: { error: "no customer nobody" } };
const refused = { status: 403, headers: { "x-error-code": "scope_refused" } };
const nobody = { status: 401, body: { error: "unauthorized" } };

describe("a link", () => {
  it("leads to the organization's portal, with its code in the fragment, which is not sent to servers", async ({
    account,
    call,
    shops,
  }) => {
    expect(shops.own.webhook).toBeDefined();
    const { body } = await call("POST", "/api/v1/customers/own/portal-links");
    expect(Object.keys(body)).toEqual(["url", "expires_at"]);
    expect(body.url).toMatch(
      new RegExp(`^https://hooks\\.example\\.com/in/portal/${account.user.org_id}#code=plc_[0-9a-f]{64}$`),
    );
  });

  it("is exchanged once, also by twenty simultaneous requests on two nodes", async ({
    node,
    other,
    linkCode,
    shops,
  }) => {
    expect(shops.own.webhook).toBeDefined();
    const code = await linkCode("own");
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        [node, other][n % 2]!.call("POST", "/api/v1/portal/sessions", { body: { code } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const gone = answers.filter(({ status }) => status !== 200);
    for (const one of gone) {
      expect(one).toMatchObject({ status: 410, headers: { "x-error-code": "portal_link_gone" } });
    }
  });

  it("expires within the hour, and its session within twelve hours", async ({
    pool,
    exchange,
    linkCode,
    node,
    shops,
  }) => {
    expect(shops.own.webhook).toBeDefined();
    const [late, last] = [await linkCode("own"), await linkCode("own")];
    await makeOlder(pool, 3_590, "portal_links");
    const { body } = await exchange(last);
    await makeOlder(pool, 10, "portal_links");
    expect((await exchange(late)).status).toBe(410);
    const read = () => node.call("GET", "/api/v1/portal", { session: body.session_token });
    await makeOlder(pool, 12 * 3_600 - 60, "portal_sessions");
    expect((await read()).status).toBe(200);
    await makeOlder(pool, 60, "portal_sessions");
    expect(await read()).toMatchObject(nobody);
  });

  it("is stored only as a hash, as is its session", async ({ pool, linkCode, exchange, shops }) => {
    expect(shops.own.webhook).toBeDefined();
    const [code, used] = [await linkCode("own"), await linkCode("own")];
    const { session_token: token } = (await exchange(used)).body;
    for (const secret of [code, used, token]) expect(await placesOfText(pool, secret.slice(4))).toEqual([]);
  });

  it("is created by members for existing customers only", async ({ node, account, call }) => {
    expect(await call("POST", "/api/v1/customers/nobody/portal-links")).toMatchObject(noCustomer);
    expect(await call("DELETE", "/api/v1/customers/nobody/portal-sessions")).toMatchObject(noCustomer);
    const session = account.session_token;
    const path = "/api/v1/customers/own/portal-links";
    expect((await node.call("POST", path, { session })).status).toBe(200);
  });
});

describe("a session", () => {
  it("sees the customer's own things, without the organization's private notes on them", async ({
    call,
    enter,
    shops: { own },
  }) => {
    const as = await enter("own");
    const { targets } = (await as("GET", "/api/v1/targets")).body;
    expect(targets.map(({ id }: { id: string }) => id)).toEqual([own.webhook, own.mailbox]);
    const { body: target } = await as("GET", `/api/v1/targets/${own.webhook}`);
    for (const shown of [targets[0], target]) {
      expect(shown).not.toHaveProperty("metadata");
      expect(shown).not.toHaveProperty("uid");
    }
    const named = `/api/v1/targets?uid=own-hook`;
    expect((await call("GET", named)).body.targets).toHaveLength(1);
    expect((await as("GET", named)).body.targets).toEqual([]);
    const { events } = (await as("GET", "/api/v1/events")).body;
    expect(new Set(events.map(({ endpoint_id: id }: { endpoint_id: string }) => id))).toEqual(
      new Set([own.webhook]),
    );
    expect((await as("GET", `/api/v1/events/${own.event}`)).status).toBe(200);
    expect((await as("GET", `/api/v1/events/${own.event}/payload`)).body).toEqual({ of: "own" });
    expect((await as("GET", `/api/v1/targets/${own.webhook}/health`)).status).toBe(200);
    expect((await as("GET", "/api/v1/portal")).body).toMatchObject({
      organization: { logo: null, colour: null },
      customer: { uid: "own", name: null },
    });
  });

  it("finds nothing of another customer", async ({ enter, shops: { other } }) => {
    const as = await enter("own");
    for (const path of [
      `targets/${other.webhook}`,
      `targets/${other.webhook}/health`,
      `events/${other.event}`,
      `events/${other.event}/payload`,
    ]) {
      expect(await as("GET", `/api/v1/${path}`), path).toMatchObject(unknown);
    }
    expect(await as("PATCH", `/api/v1/targets/${other.webhook}`, { name: "mine" })).toMatchObject(unknown);
    expect(await as("DELETE", `/api/v1/targets/${other.webhook}`)).toMatchObject(unknown);
    expect(await as("POST", `/api/v1/targets/${other.webhook}/test`, {})).toMatchObject(unknown);
    expect(await as("POST", `/api/v1/targets/${other.webhook}/signing-secret/rotate`)).toMatchObject(unknown);
    expect(await as("POST", `/api/v1/events/${other.event}/replay`)).toMatchObject(unknown);
    expect((await as("GET", `/api/v1/events?target_id=${other.webhook}`)).body.events).toEqual([]);
    expect((await as("GET", "/api/v1/targets?customer_uid=other")).body.targets).toEqual([]);
  });

  it("sees nothing of the organization", async ({ enter }) => {
    const as = await enter("own");
    for (const path of [
      "keys",
      "members",
      "audit-log",
      "usage",
      "orgs",
      "customers",
      "stats",
      "stream",
      "auth/me",
    ]) {
      expect(await as("GET", `/api/v1/${path}`), path).toMatchObject(refused);
    }
    expect((await as("GET", "/api/v1/billing")).status).toBe(403);
    expect((await as("POST", "/api/v1/keys", { name: "k" })).status).toBe(403);
    expect(await as("POST", "/api/v1/customers/other/portal-links")).toMatchObject(refused);
    expect(await as("PUT", "/api/v1/customers/own", { name: "renamed" })).toMatchObject(refused);
  });

  it("makes, changes, tests, rotates and deletes its webhooks", async ({
    enter,
    receiver,
    node,
    account,
  }) => {
    const as = await enter("own");
    const made = await as("POST", "/api/v1/targets", {
      kind: "webhook",
      name: "new",
      url: `${receiver.url}/new`,
    });
    expect(made.body).toMatchObject({ customer_uid: "own", secret: expect.stringMatching(/^whsec_/) });
    const path = `/api/v1/targets/${made.body.id}`;
    expect((await as("PATCH", path, { name: "changed" })).body).toMatchObject({ name: "changed" });
    const filter = { payload: { amount: [{ numeric: [">=", 100] }] } };
    const chosen = await as("PATCH", path, { filter, headers: { "X-Key": "hidden" } });
    expect(chosen.body).toMatchObject({ filter, headers: { "X-Key": "***" } });
    expect((await as("GET", path)).body).toMatchObject({ filter, headers: { "X-Key": "***" } });
    expect((await as("POST", "/api/v1/filters/try", { filter, payload: {} })).body.verdict).toBe("differs");
    expect((await as("POST", `${path}/test`, {})).body).toMatchObject({ delivered: true });
    const rotated = await as("POST", `${path}/signing-secret/rotate`);
    expect(rotated.body.secret).not.toBe(made.body.secret);
    expect((await as("DELETE", `${path}/signing-secret/previous`)).status).toBe(200);
    const [entry] = await entries(node, account, `?object_id=${made.body.id}&action=target.created`);
    expect(entry).toMatchObject({ actor: { kind: "customer", name: "own" } });
    expect((await as("DELETE", path)).status).toBe(200);
  });

  it("replays ended events, to its own target", async ({ enter, settled, receiver, shops: { own } }) => {
    const as = await enter("own");
    await settled(own.event, "DELIVERED");
    const { status, body } = await as("POST", `/api/v1/events/${own.event}/replay`);
    expect(status).toBe(202);
    expect((await as("GET", `/api/v1/events/${body.id}`)).body.event).toMatchObject({
      endpoint_id: own.webhook,
    });
    const arrived = await receiver.arrivals(2, { path: "/own" });
    expect(arrived.map(({ headers }) => headers["x-event-id"])).toContain(body.id);
    // Replays are free, so a customer may request only a hundred per minute.
    const more: Awaited<ReturnType<typeof as>>[] = [];
    for (let round = 0; round < 7; round++) {
      const replay = (): ReturnType<typeof as> => as("POST", `/api/v1/events/${own.event}/replay`);
      more.push(...(await Promise.all(Array.from({ length: 15 }, replay))));
    }
    const statuses = Map.groupBy(more, (answer) => answer.status);
    expect(new Set(statuses.keys())).toEqual(new Set([202, 429]));
    expect(statuses.get(202)).toHaveLength(99);
    expect(statuses.get(429)![0]!.headers["retry-after"]).toMatch(/^\d+$/);
  });

  it.for([
    ["a mailbox", { kind: "mailbox", name: "m" }],
    ["an agent", { kind: "a2a", name: "a", agent_card_url: "http://127.0.0.1:9/" }],
    ["a uid", { kind: "webhook", name: "w", url: "http://127.0.0.1:9/", uid: "other-hook" }],
    ["metadata", { kind: "webhook", name: "w", url: "http://127.0.0.1:9/", metadata: {} }],
  ] as const)("does not create %s", async ([, body], { enter }) => {
    const as = await enter("own");
    expect(await as("POST", "/api/v1/targets", body)).toMatchObject(refused);
  });

  it("cannot change mailboxes or the customer of its webhooks", async ({ enter, shops: { own } }) => {
    const as = await enter("own");
    expect(await as("PATCH", `/api/v1/targets/${own.mailbox}`, { name: "m" })).toMatchObject(refused);
    expect(await as("DELETE", `/api/v1/targets/${own.mailbox}`)).toMatchObject(refused);
    for (const [uid, reason] of [
      ["other", /^customer_uid: no customer/],
      [null, /^customer_uid cannot be null/],
    ] as const) {
      const answer = await as("PATCH", `/api/v1/targets/${own.webhook}`, { customer_uid: uid });
      expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(reason) } });
    }
  });

  it("cannot cause its publications to be refused as too large", async ({ call, enter, shops: { own } }) => {
    const as = await enter("own");
    const little = { max_payload_bytes: 1 };
    const webhook = { kind: "webhook", name: "little", url: "http://127.0.0.1:9/", ...little };
    expect(await as("POST", "/api/v1/targets", webhook)).toMatchObject(refused);
    expect(await as("PATCH", `/api/v1/targets/${own.webhook}`, little)).toMatchObject(refused);
    expect((await call("POST", "/p/own", { order: 1001 })).status).toBe(202);
  });

  it("creates at most fifty webhooks", async ({ call, enter }) => {
    await call("PUT", "/api/v1/customers/many", {});
    const as = await enter("many");
    const make = (n: number) =>
      as("POST", "/api/v1/targets", { kind: "webhook", name: `w${n}`, url: "http://127.0.0.1:9/" });
    for (let n = 0; n < 45; n++) expect((await make(n)).status).toBe(200);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => make(45 + n)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(5);
  });

  it("ends when it logs out, when its organization ends it, and when the customer is deleted", async ({
    call,
    enter,
    exchange,
    linkCode,
  }) => {
    const read = async (as: Awaited<ReturnType<typeof enter>>): Promise<number> =>
      (await as("GET", "/api/v1/portal")).status;
    await call("PUT", "/api/v1/customers/short", {});
    const [leaving, staying] = [await enter("short"), await enter("short")];
    expect((await leaving("DELETE", "/api/v1/portal/session")).status).toBe(200);
    expect([await read(leaving), await read(staying)]).toEqual([401, 200]);
    const open = await linkCode("short");
    expect((await call("DELETE", "/api/v1/customers/short/portal-sessions")).body).toEqual({
      ended_sessions: 1,
      ended_links: 1,
    });
    expect([await read(staying), (await exchange(open)).status]).toEqual([401, 410]);
    const [last, unopened] = [await enter("short"), await linkCode("short")];
    await call("DELETE", "/api/v1/customers/short");
    await call("PUT", "/api/v1/customers/short", {});
    expect([await read(last), (await exchange(unopened)).status]).toEqual([401, 410]);
  });
});

it("ends with the others also when its link is being exchanged simultaneously", async ({
  node,
  pool,
  call,
  exchange,
  linkCode,
  shops,
}) => {
  expect(shops.own.webhook).toBeDefined();
  const code = await linkCode("own");
  // The exchange has used the link by then, but its session is not committed.
  const letGo = await holdTable(pool, "audit_log");
  const opened = exchange(code);
  await until(async () => (await countLockWaits(pool)) === 1);
  const ended = call("DELETE", "/api/v1/customers/own/portal-sessions");
  await until(async () => (await countLockWaits(pool)) === 2);
  await letGo();
  const session: string = (await opened).body.session_token;
  expect((await ended).status).toBe(200);
  expect(await node.call("GET", "/api/v1/portal", { session })).toMatchObject(nobody);
});

describe("the settings", () => {
  const settings = {
    name: "Shop GmbH",
    logo: "https://cdn.example.com/logo.svg",
    colour: "#0b6e4f",
    origins: ["https://app.example.com", "http://localhost:3000"],
  };

  it("appear in the portal, and belong to the organization", async ({ call, enter, shops }) => {
    expect(shops.own.webhook).toBeDefined();
    expect((await call("PUT", "/api/v1/portal-settings", settings)).body).toEqual(settings);
    expect((await call("GET", "/api/v1/portal-settings")).body).toEqual(settings);
    const inCapitals = { ...settings, colour: "#0B6E4F" };
    expect((await call("PUT", "/api/v1/portal-settings", inCapitals)).body).toEqual(settings);
    const as = await enter("own");
    expect((await as("GET", "/api/v1/portal")).body.organization).toMatchObject({
      name: "Shop GmbH",
      logo: settings.logo,
      colour: "#0b6e4f",
    });
    expect(await as("GET", "/api/v1/portal-settings")).toMatchObject(refused);
  });

  it("name the sites that may embed the portal; no site may embed other pages", async ({
    url,
    own,
    node,
  }) => {
    const policyOf = async (path: string): Promise<string> =>
      (await fetch(`${url}/in${path}`)).headers.get("content-security-policy")!;
    const { org_id: orgId } = own.account.user;
    await own.call("PUT", "/api/v1/portal-settings", settings);
    const portal = await policyOf(`/portal/${orgId}`);
    expect(portal).toContain("frame-ancestors https://app.example.com http://localhost:3000");
    expect(portal).toContain("img-src 'self' data: https://cdn.example.com;");
    expect(portal).toContain("default-src 'none'; script-src 'self'");
    expect(await policyOf(`/portal/${orgId}/deeper`)).toBe(portal);
    for (const path of [
      "/",
      "/targets",
      `/portal/${"0".repeat(32)}`,
      "/portal/none",
      `/portal/${node.service.app.server.listening}`,
    ]) {
      expect(await policyOf(path), path).toContain("frame-ancestors 'none'");
    }
    await own.call("PUT", "/api/v1/portal-settings", { name: settings.name });
    expect(await policyOf(`/portal/${orgId}`)).toContain("img-src 'self' data:; ");
    expect(await policyOf(`/portal/${orgId}`)).toContain("frame-ancestors 'none'");
  });

  it.for([
    [{ logo: "http://cdn.example.com/logo.svg" }, /^logo/],
    [{ logo: "https://user:pass@cdn.example.com/logo.svg" }, /^logo/],
    [{ logo: "https://x;sandbox/l.png" }, /^logo: "x;sandbox" is not a valid host name/],
    [{ logo: "https://x,y/l.png" }, /^logo/],
    [{ logo: "https://x'y/l.png" }, /^logo/],
    [{ logo: "data:text/html;base64,AAAA" }, /^logo/],
    [{ logo: "javascript:alert(1)" }, /^logo/],
    [{ colour: "red" }, /^colour must be #rrggbb/],
    [{ colour: "#0B6E4" }, /^colour must be #rrggbb/],
    [{ origins: ["https://*.example.com"] }, /^origins/],
    [{ origins: ["https://app.example.com/path"] }, /^origins/],
    [{ origins: ["http://app.example.com"] }, /^origins/],
    [{ origins: ["https://app.example.com; script-src *"] }, /^origins/],
    [{ origins: ["https://app.example.com;sandbox"] }, /^origins/],
    [{ origins: ["https://a,b"] }, /^origins/],
    [{ origins: ["'self'"] }, /^origins/],
    [{ name: "a\u202Eb" }, /name/],
  ] as const)("refuse %j", async ([changes, message], { call }) => {
    const answer = await call("PUT", "/api/v1/portal-settings", { ...settings, ...changes });
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringMatching(message) } });
  });
});
