import { describe, expect } from "vitest";
import { entries, everyEntry, refuseEntries } from "./support/auditLog.ts";
import { contentsOf } from "./support/controlPlane.ts";
import { loopbackTargets, nodeTest } from "./support/fixtures.ts";
import { changes, on } from "./support/recordedChanges.ts";
import { rows } from "./support/routeRows.ts";
import { newEmail, signUp } from "./support/testNode.ts";

const it = nodeTest(loopbackTargets);

it.beforeEach(({ node, cards }) => {
  Object.assign(on, { node, cards });
});

/**
 * The routes with recorded actions, except signing up: it creates the organization that its entry belongs to, and
 * is tested separately.
 */
const named = rows
  .filter(({ operationId }) => operationId !== "signUp")
  .flatMap(({ operationId, audit }) =>
    audit === undefined || (typeof audit === "object" && "none" in audit)
      ? []
      : [audit].flat().map((action) => `${operationId}: ${action}`),
  );

describe("every route that changes something", () => {
  it("is tested below for each action that its record names", () => {
    expect(changes.map(({ operation, action }) => `${operation}: ${action}`).toSorted()).toEqual(
      named.toSorted(),
    );
    expect(named.length).toBeGreaterThan(30);
  });

  it.each(changes)("$operation writes one audit entry with action $action", async ({ action, prepare }) => {
    const account = await signUp(on.node);
    const change = await prepare(account);
    const before = await entries(on.node, account);
    expect((await change()).status).toBe(200);
    const after = await entries(on.node, account);
    expect(after.slice(0, after.length - before.length).map((entry) => entry.action)).toEqual([action]);
  });

  it.each(changes)("$operation fails when its entry $action cannot be written", async ({ prepare }) => {
    const account = await signUp(on.node);
    const orgId = account.user.org_id;
    const change = await prepare(account);
    const before = await contentsOf(on.node.pool, orgId);
    await refuseEntries(on.node.pool, { org_id: orgId });
    const { status, body } = await change();
    expect({ status, body }).toEqual({ status: 503, body: { error: expect.any(String) } });
    expect(await contentsOf(on.node.pool, orgId)).toEqual(before);
  });

  it("signUp writes one audit entry", async () => {
    const account = await signUp(on.node);
    expect((await entries(on.node, account)).map(({ action }) => action)).toEqual(["organization.created"]);
  });

  it("signUp fails when its entry cannot be written", async () => {
    const email = newEmail();
    await refuseEntries(on.node.pool, { actor_name: email });
    const credentials = { body: { email, password: "correct horse" } };
    expect((await on.node.call("POST", "/api/v1/auth/signup", credentials)).status).toBe(503);
    expect((await on.node.call("POST", "/api/v1/auth/login", credentials)).status).toBe(401);
  });

  it("writes no secret to the log", async () => {
    const account = await signUp(on.node);
    const secrets = new Set(["T0KEN-IN-PATH", "TOKEN-IN-QUERY", "BEARER-OF-AN-AGENT", "another horse"]);
    for (const { prepare } of changes) {
      // Each operation has its own account, because some of them end their own credentials.
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
    const log = await everyEntry(on.node.pool);
    expect(log.length).toBeGreaterThan(1_000);
    const found = [...secrets].filter((secret) =>
      log.includes(secret.replace(/^(ak_live|ses|inv|whsec)_/, "")),
    );
    expect(found).toEqual([]);
  });
});
