import { beforeEach, describe, expect } from "vitest";
import { createPasswords } from "../src/accounts/passwords.ts";
import { readOrgCommand } from "../src/billing/orgCommand.ts";
import { UsageError } from "../src/runtime/commandError.ts";
import { oneCell } from "../src/postgres/cells.ts";
import { entries } from "./support/auditLog.ts";
import { newEmail } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { setBillingStatus } from "./support/storedStates.ts";
import { storeBatches, storeUsage } from "./support/billing/storedLedger.ts";

let printed: string[];
let audited: string[];

const it = sharedNodeTest()
  /** Runs a command and returns its output. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
  .extend("org", file, ({ node }) => async (...args: string[]): Promise<any> => {
    printed = [];
    await readOrgCommand(args)({
      pool: node.pool,
      cells: oneCell(node.pool),
      passwords,
      nowMs: Date.now,
      operator: "ada",
      print: (text) => printed.push(text),
      audit: (line) => audited.push(line),
    });
    return args[0] === "list" ? printed.map((line) => JSON.parse(line)) : JSON.parse(printed.join("\n"));
  })
  /** Decisions of operators about batches, from the organization's audit log, newest first. */
  .extend("settledBy", file, ({ node }) => async (key: string): Promise<unknown[]> => {
    const found = await entries(node, { api_key: key }, "?action=billing.batch_settled");
    return found.map(({ object, after }) => [object.name, after]);
  });

beforeEach(() => {
  printed = [];
  audited = [];
});

const passwords = createPasswords();

describe("postrider org", () => {
  it("creates an exempt organization with a key that works at once", async ({ org, node }) => {
    const created = await org("create", "Founders", "--exempt");
    expect(created).toMatchObject({ name: "Founders", billing_status: "exempt" });
    const { status, body } = await node.call("GET", "/api/v1/usage", { key: created.api_key });
    expect([status, body.usage.estimated_cents]).toEqual([200, 0]);
    expect(JSON.parse(audited[0]!)).toMatchObject({
      audit: "org create",
      operator: "ada",
      org_id: created.id,
      to: "exempt",
    });
    expect(audited.join()).not.toContain(created.api_key);
    expect((await org("show", created.slug)).history).toEqual([
      { from: null, to: "exempt", cause: "operator ada", changed_at: expect.any(Number) },
    ]);
  });

  it("creates an owner who can log in with the password shown", async ({ org, node }) => {
    const email = newEmail();
    const { owner } = await org("create", "Acme", "--email", email);
    const login = await node.call("POST", "/api/v1/auth/login", { body: owner });
    expect(login.status).toBe(200);
    await expect(org("create", "Acme again", "--email", email)).rejects.toMatchObject({
      message: "the email already has an account",
      exitCode: 5,
    });
  });

  it("supports --json in every command: one document per line", async ({ org }) => {
    const { id } = await org("create", "Scripted", "--json");
    const answers = [
      ["show", id, "--json"],
      ["list", "--state", "active", "--json"],
      ["set-state", id, "exempt", "--json"],
    ];
    for (const words of answers) {
      await org(...words);
      expect(printed.length).toBeGreaterThan(0);
      for (const line of printed) expect(line).toBe(JSON.stringify(JSON.parse(line)));
    }
  });

  it("sets a state, and records the reason", async ({ org, node }) => {
    const { id, api_key: key } = await org("create", "Acme");
    expect(await org("set-state", id, "suspended", "--reason", "unpaid invoice 7")).toEqual({
      id,
      from: "active",
      to: "suspended",
    });
    expect(JSON.parse(audited.at(-1)!)).toMatchObject({
      audit: "org set-state",
      from: "active",
      to: "suspended",
      reason: "unpaid invoice 7",
    });
    const log = await node.call("GET", "/api/v1/audit-log", { key });
    expect(log.body.entries).toMatchObject([
      {
        action: "billing.state_changed",
        actor: { kind: "operator", id: null, name: "ada" },
        object: { kind: "organization", id },
        before: { billing_status: "active" },
        after: { billing_status: "suspended", cause: "operator ada: unpaid invoice 7" },
      },
      { action: "organization.created", actor: { kind: "operator", name: "ada" } },
    ]);
    const target = await node.call("POST", "/api/v1/targets", { key, body: { kind: "mailbox", name: "m" } });
    const item = await node.call("POST", `/t/${target.body.id}`, { key, body: {} });
    expect(item.status).toBe(402);
    await org("set-state", id, "grace");
    expect(await org("show", id)).toMatchObject({
      billing_status: "grace",
      billing_grace_ends_at: expect.any(Number),
      history: [
        { to: "active" },
        { from: "active", to: "suspended", cause: "operator ada: unpaid invoice 7" },
        { from: "suspended", to: "grace", cause: "operator ada" },
      ],
    });
    expect((await node.call("POST", `/t/${target.body.id}`, { key, body: {} })).status).toBe(202);
  });

  it("restarts the grace period when an operator grants more time", async ({ org, node }) => {
    const { id } = await org("create", "Late");
    await setBillingStatus(node.pool, { org_id: id }, "grace", 60);
    const { billing_grace_ends_at: before } = await org("show", id);
    expect(await org("set-state", id, "grace", "--reason", "they promised")).toEqual({
      id,
      from: "grace",
      to: "grace",
    });
    const { billing_grace_ends_at: after, history } = await org("show", id);
    expect(after - before).toBeGreaterThan(2 * 86_400);
    expect(history.at(-1)).toMatchObject({
      from: "grace",
      to: "grace",
      cause: "operator ada: they promised",
    });
  });

  it("lists organizations by their current state", async ({ org, node }) => {
    const { id } = await org("create", "Lapsed");
    await setBillingStatus(node.pool, { org_id: id }, "grace", -1);
    const suspended = (await org("list", "--state", "suspended")) as { id: string }[];
    expect(suspended.map((organization) => organization.id)).toContain(id);
    const inGrace = (await org("list", "--state", "grace")) as { id: string }[];
    expect(inGrace.map((organization) => organization.id)).not.toContain(id);
  });

  it("shows usage and the batches that wait for an operator, and settles them", async ({
    org,
    node,
    settledBy,
  }) => {
    const { id, api_key: key } = await org("create", "Stuck");
    await storeUsage(node.pool, id, 50);
    await storeBatches(node.pool, id, [
      { identifier: "one", items: 20, status: "attention", customer: "cus_one" },
      { identifier: "two", items: 30, status: "attention", customer: "cus_two" },
    ]);
    expect(await org("show", id)).toMatchObject({
      usage: { accepted: 50, exported: 0, pending: 50 },
      unsettled_batches: [{ identifier: "one" }, { identifier: "two" }],
    });
    await org("settle-batch", "one", "exported");
    await org("settle-batch", "two", "resend");
    expect(await settledBy(key)).toEqual([
      ["two", { outcome: "resend", items: 30 }],
      ["one", { outcome: "exported", items: 20 }],
    ]);
    expect(await org("show", id)).toMatchObject({
      usage: { accepted: 50, exported: 20, pending: 30 },
      unsettled_batches: [{ identifier: "two", status: "open" }],
    });
    await expect(org("settle-batch", "one", "exported")).rejects.toMatchObject({
      message: "there is no unsettled batch one",
      exitCode: 4,
    });
  });

  it("does not send a batch again while another of the same customer is open", async ({
    org,
    node,
    settledBy,
  }) => {
    const { id, api_key: key } = await org("create", "Twice");
    await storeBatches(node.pool, id, [
      { identifier: "open one", items: 1, status: "open", customer: "cus_twice" },
      { identifier: "stuck one", items: 1, status: "attention", customer: "cus_twice" },
    ]);
    await expect(org("settle-batch", "stuck one", "resend")).rejects.toMatchObject({
      message: "another batch of the same customer is in progress: try again when it is settled",
      exitCode: 1,
    });
    expect((await org("show", id))["unsettled_batches"]).toContainEqual(
      expect.objectContaining({ identifier: "stuck one", status: "attention" }),
    );
    expect(await settledBy(key)).toEqual([]);
  });

  it.for<[string[]]>([
    [[]],
    [["destroy"]],
    [["create"]],
    [["create", "a", "b"]],
    [["create", "a", "--exempt", "--state", "active"]],
    [["create", "a", "--state", "grace"]],
    [["set-state", "x"]],
    [["set-state", "x", "rich"]],
    [["list", "--state", "rich"]],
    [["show", "x", "--verbose"]],
    [["settle-batch", "x", "forget"]],
  ])("refuses %j with a message", async ([args], { org }) => {
    await expect(org(...args)).rejects.toThrow(UsageError);
  });

  it("refuses a name or an address that the interface refuses", async ({ org }) => {
    await expect(org("create", "Acme", "--email", "nobody")).rejects.toMatchObject({
      message: "email must be an address such as name@example.com",
      exitCode: 2,
    });
    for (const name of [" ", "a\nb", "x".repeat(257)])
      await expect(org("create", name)).rejects.toMatchObject({ exitCode: 2 });
    expect((await org("create", "😀".repeat(256)))["name"]).toBe("😀".repeat(256));
  });

  it("reports that the organization does not exist", async ({ org }) => {
    await expect(org("show", "nobody")).rejects.toMatchObject({
      message: "there is no organization nobody",
      exitCode: 4,
    });
    await expect(org("set-state", "0".repeat(32), "active")).rejects.toThrow("there is no organization");
  });
});
