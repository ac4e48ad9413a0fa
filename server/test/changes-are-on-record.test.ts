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
    const before = await contentsOf(on.node.pool, orgId);
    await refuseEntries(on.node.pool, { org_id: orgId });
    const { status, body } = await change();
    expect({ status, body }).toEqual({ status: 503, body: { error: expect.any(String) } });
    expect(await contentsOf(on.node.pool, orgId)).toEqual(before);
  });

  it("signUp is on record once", async () => {
    const account = await signUp(on.node);
    expect((await entries(on.node, account)).map(({ action }) => action)).toEqual(["organization.created"]);
  });

  it("signUp is not done when it cannot be put on record", async () => {
    const email = newEmail();
    await refuseEntries(on.node.pool, { actor_name: email });
    const credentials = { body: { email, password: "correct horse" } };
    expect((await on.node.call("POST", "/api/v1/auth/signup", credentials)).status).toBe(503);
    expect((await on.node.call("POST", "/api/v1/auth/login", credentials)).status).toBe(401);
  });

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
    const log = await everyEntry(on.node.pool);
    expect(log.length).toBeGreaterThan(1_000);
    const found = [...secrets].filter((secret) =>
      log.includes(secret.replace(/^(ak_live|ses|inv|whsec)_/, "")),
    );
    expect(found).toEqual([]);
  });
});
