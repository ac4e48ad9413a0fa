import { randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import { forgetEntries } from "../src/audit/store.ts";
import { createSecretWebhook, entries, entriesOfNobody, type Entry } from "./support/auditLog.ts";
import { type Answer, signUp } from "./support/testNode.ts";
import { nodeTest } from "./support/fixtures.ts";

const it = nodeTest({ POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8" });

describe("an entry", () => {
  it("states the actor, the action, the address and the time", async ({ own: { account }, node }) => {
    const id = await createSecretWebhook(node, account);
    const changed = await node.call("PATCH", `/api/v1/targets/${id}`, {
      session: account.session_token,
      body: { name: "renamed", url: "https://127.0.0.1:9/other", max_retries: 8 },
      headers: { "user-agent": `browser ${"x".repeat(300)}` },
      from: "203.0.113.77",
    });
    const [entry] = await entries(node, account);
    expect(entry).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      at: expect.any(Number),
      action: "target.updated",
      actor: { kind: "user", id: account.user.id, name: account.user.email },
      object: { kind: "target", id, name: "renamed" },
      before: {
        name: "w",
        url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:9\/… \(sha256 [0-9a-f]{12}\)$/),
      },
      after: {
        name: "renamed",
        url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:9\/… \(sha256 [0-9a-f]{12}\)$/),
      },
      client_address: "203.0.113.77",
      user_agent: `browser ${"x".repeat(192)}`,
      request_id: changed.headers["x-request-id"],
    });
    expect(entry!.before!["url"]).not.toBe(entry!.after!["url"]);
    expect(Math.abs(entry!.at - Date.now() / 1000)).toBeLessThan(120);
  });

  it("of a key names the key, also after the key was deleted", async ({ own: { account }, node }) => {
    const { body } = await node.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "deployer" },
    });
    await node.call("PATCH", "/api/v1/orgs", { key: body.key, body: { name: "by key" } });
    await node.call("DELETE", `/api/v1/keys/${body.id}`, { key: account.api_key });
    const [deleted, renamed] = await entries(node, account);
    expect(renamed!.actor).toEqual({ kind: "key", id: body.id, name: "deployer" });
    expect(deleted).toMatchObject({
      actor: { kind: "key", name: "default" },
      object: { kind: "key", id: body.id, name: "deployer" },
    });
  });

  it("of a signup is the organization's first", async ({ own: { account }, node }) => {
    expect(await entries(node, account)).toMatchObject([
      {
        action: "organization.created",
        actor: { kind: "user", id: account.user.id, name: account.user.email },
        object: { kind: "organization", id: account.user.org_id },
      },
    ]);
  });

  it("of a refused login belongs to the account; for an unknown account it belongs to no organization", async ({
    own: { account },
    node,
  }) => {
    const logIn = (email: string): Promise<Answer> =>
      node.call("POST", "/api/v1/auth/login", {
        body: { email, password: "wrong horse" },
        from: "203.0.113.78",
      });
    expect((await logIn(account.user.email)).status).toBe(401);
    expect((await logIn("typed-the-password-here")).status).toBe(401);
    expect((await entries(node, account))[0]).toMatchObject({
      action: "session.refused",
      actor: { kind: "unknown", id: null, name: null },
      object: { kind: "user", id: account.user.id, name: account.user.email },
      client_address: "203.0.113.78",
    });
    expect(await entriesOfNobody(node.pool, { client_address: "203.0.113.78" })).toEqual([
      { object_id: null, object_name: null, before: null, after: null },
    ]);
  });

  it("of a refused change of the password is written", async ({ own: { account }, node }) => {
    await node.call("POST", "/api/v1/auth/password", {
      session: account.session_token,
      body: { current_password: "wrong horse", new_password: "another horse" },
    });
    expect((await entries(node, account))[0]).toMatchObject({ action: "password.change_refused" });
  });

  it("of a target's operational events has the types before and after", async ({
    own: { account },
    node,
  }) => {
    const targetId = await createSecretWebhook(node, account);
    const save = (eventType: string) =>
      node.call("POST", "/api/v1/notification-targets", {
        key: account.api_key,
        body: { target_id: targetId, event_types: [eventType] },
      });
    await save("event.failed");
    await save("target.disabled");
    const { body } = await save("target.disabled");
    await node.call("DELETE", `/api/v1/notification-targets/${body.id}`, { key: account.api_key });
    const [removed] = await entries(node, account, "?action=notification_target.removed");
    expect(removed!.object).toEqual({ kind: "target", id: targetId, name: "w" });
    const saved = await entries(node, account, "?action=notification_target.saved");
    expect(saved.map(({ before, after }) => [before, after])).toEqual([
      [{ event_types: ["event.failed"] }, { event_types: ["target.disabled"] }],
      [null, { event_types: ["event.failed"] }],
    ]);
  });

  it("of the portal's appearance contains no address of a logo", async ({ own: { account }, node }) => {
    const put = (logo: string | null) =>
      node.call("PUT", "/api/v1/portal-settings", { key: account.api_key, body: { logo } });
    await put("https://cdn.example.com/logo.png?signature=TOKEN");
    await put(null);
    const masked = {
      logo: expect.stringMatching(/^https:\/\/cdn\.example\.com\/… \(sha256 [0-9a-f]{12}\)$/),
    };
    const saved = await entries(node, account, "?action=portal_settings.saved");
    expect(saved.map(({ before, after }) => [before, after])).toEqual([
      [masked, { logo: null }],
      [{ logo: null }, masked],
    ]);
  });

  it("is not written for a request that changes nothing", async ({ own: { account }, node }) => {
    const id = await createSecretWebhook(node, account);
    const key = account.api_key;
    const rotation = { secret: `whsec_${randomBytes(32).toString("base64")}` };
    const rotate = (body: object) =>
      node.call("POST", `/api/v1/targets/${id}/signing-secret/rotate`, { key, body });
    const { body: rotated } = await rotate({ ...rotation, previous_secret_ends_in_seconds: 3_600 });
    const before = await entries(node, account);
    expect((await rotate(rotation)).body).toEqual(rotated);
    await node.call("PATCH", `/api/v1/targets/${id}`, { key, body: { name: "w", enabled: true } });
    await node.call("PATCH", "/api/v1/orgs", { key, body: { name: account.user.name } });
    await node.call("PATCH", `/api/v1/members/${account.user.id}`, {
      session: account.session_token,
      body: { role: "admin" },
    });
    await node.call("POST", "/api/v1/targets", { key, body: { kind: "webhook", name: "w", url: "nowhere" } });
    expect(await entries(node, account)).toEqual(before);
  });
});

describe("the log", () => {
  it("is read newest first, page by page, and by action, actor, object and time", async ({
    own: { account },
    node,
  }) => {
    const [first, second] = [
      await createSecretWebhook(node, account),
      await createSecretWebhook(node, account),
    ];
    for (const name of ["a", "b", "c"]) {
      await node.call("PATCH", `/api/v1/targets/${first}`, {
        session: account.session_token,
        body: { name },
      });
    }
    const all = await entries(node, account);
    expect(all).toHaveLength(6);
    const paged: Entry[] = [];
    for (let page = await entries(node, account, "?limit=4"); page.length > 0;) {
      paged.push(...page);
      page = await entries(node, account, `?limit=4&before=${paged.at(-1)!.id}`);
    }
    expect(paged).toEqual(all);
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );

    const names = (list: Entry[]): string[] => list.map(({ action }) => action);
    expect(names(await entries(node, account, "?action=target.created"))).toEqual(
      Array(2).fill("target.created"),
    );
    expect(await entries(node, account, `?object_id=${second}`)).toHaveLength(1);
    expect(await entries(node, account, `?object_id=${first}&action=target.updated`)).toHaveLength(3);
    expect(await entries(node, account, `?actor_id=${account.user.id}`)).toHaveLength(4);
    const now = all[0]!.at;
    expect(await entries(node, account, `?created_after=${now - 60}&created_before=${now + 60}`)).toEqual(
      all,
    );
    expect(await entries(node, account, `?created_after=${now + 60}`)).toEqual([]);
    expect(await entries(node, account, `?created_before=${now - 60}`)).toEqual([]);
    expect(await entries(node, account, "?actor_id=nobody")).toEqual([]);
  });

  it("refuses a filter that can match nothing", async ({ own: { account }, node }) => {
    for (const query of ["?action=target.painted", "?actions=key.created", "?limit=0", "?created_after=x"]) {
      const { status } = await node.call("GET", `/api/v1/audit-log${query}`, { key: account.api_key });
      expect({ query, status }).toEqual({ query, status: 400 });
    }
  });

  it("shows an organization only its own entries", async ({ node }) => {
    const [account, stranger] = [await signUp(node), await signUp(node)];
    const id = await createSecretWebhook(node, stranger);
    expect(await entries(node, account, `?object_id=${id}`)).toEqual([]);
    expect(await entries(node, account, `?before=${(await entries(node, stranger))[0]!.id}`)).toHaveLength(1);
  });

  it("deletes entries past its retention, and no others", async ({ own: { account }, node }) => {
    const before = await entries(node, account);
    expect(await forgetEntries(node.pool, { retentionDays: 365, nowMs: Date.now() })).toBe(0);
    expect(await entries(node, account)).toEqual(before);
    const afterwards = Date.now() + 366 * 86_400_000;
    expect(await forgetEntries(node.pool, { retentionDays: 365, nowMs: afterwards })).toBeGreaterThan(0);
    expect(await entries(node, account)).toEqual([]);
  });
});
