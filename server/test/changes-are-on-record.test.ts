import { describe, expect } from "vitest";
import { entries } from "./support/auditLog.ts";
import { loopbackTargets, nodeTest } from "./support/fixtures.ts";
import { changes, on } from "./support/recordedChanges.ts";
import { rows } from "./support/routeRows.ts";
import { newEmail, signUp } from "./support/testNode.ts";

const it = nodeTest(loopbackTargets);

it.beforeEach(({ node, cards }) => {
  Object.assign(on, { node, cards });
});

/** The routes whose records name actions; signing up makes the organization that its entry belongs to, and is tested apart. */
const named = rows
  .filter(({ operationId }) => operationId !== "signUp")
  .flatMap(({ operationId, audit }) =>
    audit === undefined || (typeof audit === "object" && "none" in audit)
      ? []
      : [audit].flat().map((action) => `${operationId}: ${action}`),
  );

describe("every route that changes something", () => {
  it("is tried below for each action that its record names", () => {
    expect(changes.map(({ operation, action }) => `${operation}: ${action}`).toSorted()).toEqual(
      named.toSorted(),
    );
    expect(named.length).toBeGreaterThan(30);
  });

  it.each(changes)("$operation is on record once as $action", async ({ action, prepare }) => {
    const account = await signUp(on.node);
    const change = await prepare(account);
    const before = await entries(on.node, account);
    expect((await change()).status).toBe(200);
    const after = await entries(on.node, account);
    expect(after.slice(0, after.length - before.length).map((entry) => entry.action)).toEqual([action]);
  });

  it.each(changes)("$operation is not done when $action cannot be put on record", async ({ prepare }) => {
    const account = await signUp(on.node);
    const orgId = account.user.org_id;
    const change = await prepare(account);
    const before = await contents(orgId);
    await refuseEntries(orgId);
    const { status, body } = await change();
    expect({ status, body }).toEqual({ status: 503, body: { error: expect.any(String) } });
    expect(await contents(orgId)).toEqual(before);
  });

  it("signUp is on record once", async () => {
    const account = await signUp(on.node);
    expect((await entries(on.node, account)).map(({ action }) => action)).toEqual(["organization.created"]);
  });

  it("signUp is not done when it cannot be put on record", async () => {
    const email = newEmail();
    await on.node.pool.query(refusing("refuse_sign_up", `new.actor_name = '${email}'`));
    const { status } = await on.node.call("POST", "/api/v1/auth/signup", {
      body: { email, password: "correct horse" },
    });
    expect(status).toBe(503);
    const { rows: users } = await on.node.pool.query("select id from users where email = $1", [email]);
    expect(users).toEqual([]);
  });

  /** Lets every entry of an organization fail, as a full disk would. */
  async function refuseEntries(orgId: string): Promise<void> {
    await on.node.pool.query(refusing(`refuse_${orgId}`, `new.org_id = '${orgId}'`));
  }

  function refusing(name: string, condition: string): string {
    return `
      create or replace function public.refuse_entry() returns trigger language plpgsql as $$
      begin
        raise exception 'planted' using errcode = '53100';
      end $$;
      create or replace trigger "${name}" before insert on audit_log
        for each row when (${condition}) execute function public.refuse_entry()`;
  }

  /** Everything of the control plane that belongs to an organization. */
  async function contents(orgId: string): Promise<unknown> {
    const tables = {
      organizations: "id = $1",
      users: "org_id = $1",
      sessions: "user_id in (select id from users where org_id = $1)",
      password_resets: "user_id in (select id from users where org_id = $1)",
      api_keys: "org_id = $1",
      customers: "org_id = $1",
      targets: "org_id = $1",
      agent_cards: "target_id in (select id from targets where org_id = $1)",
      invitations: "org_id = $1",
      notification_targets: "org_id = $1",
      event_types: "org_id = $1",
    };
    const parts = await Promise.all(
      Object.entries(tables).map(async ([table, condition]) => {
        const { rows } = await on.node.pool.query(
          `select to_jsonb(t) - 'last_used_at' as row
           from ${table} t
           where ${condition}
           order by 1`,
          [orgId],
        );
        return [table, rows];
      }),
    );
    return Object.fromEntries(parts);
  }

  it("leaves no secret in the log", async () => {
    const account = await signUp(on.node);
    const secrets = new Set(["T0KEN-IN-PATH", "TOKEN-IN-QUERY", "BEARER-OF-AN-AGENT", "another horse"]);
    for (const { prepare } of changes) {
      // Each with an account of its own: some end the credentials that they are called with.
      const fresh = await signUp(on.node);
      for (const one of [fresh.api_key, fresh.session_token, fresh.password]) secrets.add(one);
      const { body } = await (await prepare(fresh))();
      for (const name of ["key", "secret", "token", "session_token"]) {
        if (typeof body[name] === "string") secrets.add(body[name]);
      }
    }
    await on.node.call("POST", "/api/v1/auth/login", {
      body: { email: account.password, password: account.password },
    });
    await on.node.call("POST", "/api/v1/auth/login", {
      body: { email: account.user.email, password: "a wrong password" },
    });
    secrets.add("a wrong password").add(account.password);
    const { rows } = await on.node.pool.query<{ text: string }>(
      "select to_jsonb(a)::text as text from audit_log a",
    );
    const log = rows.map(({ text }) => text).join("\n");
    expect(log.length).toBeGreaterThan(1_000);
    const found = [...secrets].filter((secret) =>
      log.includes(secret.replace(/^(ak_live|ses|inv|whsec)_/, "")),
    );
    expect(found).toEqual([]);
  });
});
