import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect } from "vitest";
import { join } from "./support/members.ts";
import { serviceFile, someKey } from "./support/program.ts";
import { type Account, type Answer, createTestNode, signUp, type TestNode } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest()
  .extend(
    "change",
    file,
    ({ node }) =>
      (session: string, current: string, next: string = wanted, on: TestNode = node): Promise<Answer> => {
        const body = { current_password: current, new_password: next };
        return on.call("POST", "/api/v1/auth/password", { session, body });
      },
  )
  .extend(
    "logIn",
    file,
    ({ node }) =>
      ({ user }: Pick<Account, "user">, password: string): Promise<Answer> =>
        node.call("POST", "/api/v1/auth/login", { body: { email: user.email, password } }),
  )
  .extend(
    "isValid",
    file,
    ({ other }) =>
      async (session: string): Promise<boolean> =>
        (await other.call("GET", "/api/v1/auth/me", { session })).status === 200,
  )
  .extend(
    "reset",
    file,
    ({ database }) =>
      async (args: string[], input: string): Promise<{ code: number; out: string; said: string }> => {
        const child = spawn(process.execPath, [serviceFile, "reset-password", ...args], {
          env: {
            PATH: process.env["PATH"],
            DATABASE_URL: database.url,
            POSTRIDER_ENCRYPTION_KEY: someKey,
          },
        });
        const [out, said] = [text(child.stdout), text(child.stderr)];
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
        const [code] = (await once(child, "close")) as [number];
        return { code, out: await out, said: await said };
      },
  );

const wanted = "a new horse with staples";

describe("changing the password", () => {
  it("ends the user's other sessions at once on every node, and keeps the requesting session and the keys", async ({
    own: { account },
    node,
    logIn,
    change,
    isValid,
  }) => {
    const colleague = await join(node, account, "viewer");
    const second = (await logIn(account, account.password)).body.session_token;
    const answer = await change(account.session_token, account.password);
    expect([answer.status, answer.body]).toEqual([200, { ok: true }]);
    expect(await isValid(account.session_token)).toBe(true);
    expect(await isValid(second)).toBe(false);
    expect(await isValid(colleague.session_token)).toBe(true);
    expect((await node.call("GET", "/api/v1/auth/me", { key: account.api_key })).status).toBe(200);
    expect((await logIn(account, account.password)).status).toBe(401);
    expect((await logIn(account, wanted)).status).toBe(200);
  });

  it("needs the current password, and a wrong one does not end the session", async ({
    own: { account },
    change,
    isValid,
    logIn,
  }) => {
    const refused = await change(account.session_token, "wrong horse");
    expect(refused).toMatchObject({
      status: 403,
      body: { error: "current_password is wrong" },
      headers: { "x-error-code": "password_wrong" },
    });
    expect(await isValid(account.session_token)).toBe(true);
    expect((await logIn(account, account.password)).status).toBe(200);
  });

  it("succeeds once when it is sent twice, and the session stays valid", async ({
    own: { account },
    change,
    isValid,
  }) => {
    const send = () => change(account.session_token, account.password);
    const answers = await Promise.all([send(), send(), send()]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403]);
    expect(await isValid(account.session_token)).toBe(true);
  });

  it.for([
    ["short", "new_password must be at least 8 characters"],
    ["x".repeat(129), "new_password must be at most 128 characters"],
  ])("refuses %s", async ([next, message], { node, change }) => {
    const account = await signUp(node);
    const { status, body } = await change(account.session_token, account.password, next);
    expect([status, body.error]).toEqual([400, message]);
  });

  it("refuses a concurrent login with the old password", async ({
    own: { account },
    logIn,
    change,
    other,
    isValid,
  }) => {
    const logins = Array.from({ length: 8 }, () => logIn(account, account.password));
    const changed = await change(account.session_token, account.password, wanted, other);
    expect(changed.status).toBe(200);
    for (const { status, body } of await Promise.all(logins)) {
      expect([200, 401]).toContain(status);
      const session = body.session_token ?? account.session_token.replace(/.{8}$/, "00000000");
      expect(await isValid(session)).toBe(false);
    }
  });

  it("is limited per user like logins per address", async ({ database, change }) => {
    const limited = createTestNode(database, { POSTRIDER_LOGIN_LIMIT: "5" });
    try {
      const account = await signUp(limited);
      const neighbour = await signUp(limited);
      const statuses: number[] = [];
      for (let index = 0; index < 6; index++) {
        statuses.push((await change(account.session_token, "wrong horse", wanted, limited)).status);
      }
      expect(statuses).toEqual([403, 403, 403, 403, 403, 429]);
      const refused = await change(account.session_token, account.password, wanted, limited);
      expect(refused.headers["ratelimit-policy"]).toBe('"password";q=5;w=900');
      expect((await change(neighbour.session_token, neighbour.password, wanted, limited)).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });
});

describe("postrider reset-password", () => {
  it("sets the password from its input, ends the user's sessions, and writes an audit entry", async ({
    own: { account },
    node,
    reset,
    isValid,
    logIn,
  }) => {
    const { code, out, said } = await reset([account.user.email.toUpperCase()], `${wanted}\n`);
    expect({ code, said }).toEqual({ code: 0, said: expect.stringContaining('"audit":"reset-password"') });
    expect(JSON.parse(out)).toEqual({
      email: account.user.email,
      user_id: account.user.id,
      org_id: account.user.org_id,
      sessions_ended: 1,
    });
    expect(out + said).not.toContain(wanted);
    expect(await isValid(account.session_token)).toBe(false);
    expect((await logIn(account, account.password)).status).toBe(401);
    expect((await logIn(account, wanted)).status).toBe(200);
    const log = await node.call("GET", "/api/v1/audit-log?action=password.reset", { key: account.api_key });
    expect(log.body.entries).toMatchObject([
      {
        actor: { kind: "operator", id: null, name: expect.stringMatching(/./) },
        object: { kind: "user", id: account.user.id, name: account.user.email },
        after: { sessions_ended: 1 },
      },
    ]);
  });

  it.for<[string, { args: string[]; input: string }, number, RegExp]>([
    ["no address", { args: [], input: wanted }, 2, /<email> is missing/],
    [
      "a password as an argument",
      { args: ["a@example.com", wanted], input: "" },
      2,
      /read from the standard input/,
    ],
    ["an option", { args: ["--password", wanted], input: "" }, 2, /takes no options/],
    ["nothing to read", { args: ["a@example.com"], input: "" }, 1, /has no password/],
    ["two lines", { args: ["a@example.com"], input: `${wanted}\n${wanted}\n` }, 1, /more than one line/],
    ["a short password", { args: ["a@example.com"], input: "short\n" }, 1, /8 to 128 characters, but has 5/],
    ["an unknown address", { args: ["nobody@example.com"], input: wanted }, 4, /no account has this address/],
  ])("refuses %s", async ([_what, { args, input }, expected, message], { reset }) => {
    const { code, out, said } = await reset(args, input);
    expect({ code, out, said }).toEqual({ code: expected, out: "", said: expect.stringMatching(message) });
    expect(said).not.toContain(wanted);
  });
});
