import { describe, expect } from "vitest";
import { deleteExpired } from "../src/process/chores.ts";
import { leastRoundTripsOf } from "./support/roundTrips.ts";
import {
  type Account,
  type Answer,
  bodyOf,
  isAccepted,
  newEmail,
  signUp,
  type TestNode,
} from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { entries } from "./support/auditLog.ts";
import { join } from "./support/members.ts";
import { makeOlder, secondsLeft } from "./support/passedTime.ts";
import { countRows } from "./support/unseenRows.ts";

const it = sharedNodeTest()
  .extend(
    "logIn",
    file,
    ({ node }) =>
      (body: unknown, on: TestNode = node): Promise<Answer> =>
        on.call("POST", "/api/v1/auth/login", { body }),
  )
  .extend(
    "newSession",
    file,
    ({ node, logIn }) =>
      async ({ user, password }: Account, on: TestNode = node): Promise<string> =>
        (await bodyOf(logIn({ email: user.email, password }, on))).session_token,
  )
  /** Returns which of the sessions are valid, in their order. */
  .extend(
    "valid",
    file,
    ({ node }) =>
      async (sessions: string[]): Promise<boolean[]> =>
        Promise.all(sessions.map((session) => isAccepted(node, { session }))),
  )
  /** Expires the user's session of this number now; 1 is the session of the sign-up. */
  .extend("expire", file, ({ node }) => async ({ user }: Account, number: number): Promise<void> => {
    await makeOlder(node.pool, 604_800, "sessions", { user_id: user.id, number });
  });

describe("login", () => {
  it("answers with the user and a session that works", async ({ own: { account }, logIn, valid }) => {
    const answer = await logIn({ email: account.user.email, password: account.password });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ user: account.user, session_token: expect.any(String) });
    expect(answer.body.session_token).not.toBe(account.session_token);
    expect(await valid([account.session_token, answer.body.session_token])).toEqual([true, true]);
  });

  it("compares addresses trimmed and lower-cased, and passwords exactly", async ({ node, logIn }) => {
    const { user, password } = await signUp(node, `Mixed.Case-${newEmail()}`);
    expect((await logIn({ email: ` ${user.email.toUpperCase()}\n`, password })).status).toBe(200);
    expect((await logIn({ email: user.email, password: `${password} ` })).status).toBe(401);
    expect((await logIn({ email: user.email, password: password.toUpperCase() })).status).toBe(401);
  });

  it("answers a wrong password and an unknown address with the same response", async ({ node, logIn }) => {
    const { user } = await signUp(node);
    const wrong = await logIn({ email: user.email, password: "wrong password" });
    const unknown = await logIn({ email: newEmail(), password: "wrong password" });
    for (const answer of [wrong, unknown]) {
      expect(answer).toMatchObject({ status: 401, body: { error: "unauthorized" } });
      expect(Object.keys(answer.body)).toEqual(["error"]);
    }
  });

  it("does the same work for an unknown address as for a wrong password", async ({ node, logIn }) => {
    const { user } = await signUp(node);
    const answerTo = (email: string) => () => logIn({ email, password: "wrong password" });
    const unknown = await leastRoundTripsOf(node.pool, answerTo(newEmail()));
    expect(unknown).toBe(await leastRoundTripsOf(node.pool, answerTo(user.email)));
    expect(unknown).toBeGreaterThan(2);
  });

  it.for(["known", "unknown"] as const)(
    "is refused with 503 when too many passwords wait to be hashed, and works again afterwards: %s address",
    async (address, { node, logIn }) => {
      const { user, password } = await signUp(node);
      const email = address === "known" ? user.email : newEmail();
      const answers = await Promise.all(
        Array.from({ length: 250 }, () => logIn({ email, password: "wrong password" })),
      );
      const refused = answers.filter(({ status }) => status === 503);
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(250 - refused.length);
      expect(refused.length).toBeGreaterThan(0);
      for (const { headers, body } of refused) {
        expect(headers["retry-after"]).toBe("2");
        expect(Object.keys(body)).toEqual(["error"]);
      }
      expect((await logIn({ email: user.email, password })).status).toBe(200);
    },
  );

  const email = "someone@example.com";
  const missing = "email and password are required";
  const refusals: [string, unknown, string][] = [
    ["without a body", undefined, missing],
    ["with an empty object", {}, missing],
    ["without a password", { email }, missing],
    ["without an email", { password: "12345678" }, missing],
    ["with an empty password", { email, password: "" }, missing],
    ["with a blank email", { email: " ", password: "12345678" }, missing],
    ["with a number for a password", { email, password: 12_345_678 }, "password must be a string"],
    ["with a huge email", { email: "e".repeat(257), password: "x" }, "email must be at most 256 characters"],
    ["with a huge password", { email, password: "x".repeat(129) }, "password must be at most 128 characters"],
  ];
  it.for(refusals)("%s: 400", async ([_what, body, message], { logIn }) => {
    expect(await logIn(body)).toMatchObject({ status: 400, body: { error: message } });
  });
});

describe("sessions", () => {
  it("are limited to five per user: a sixth ends the oldest, even within a second", async ({
    own: { account },
    newSession,
    valid,
  }) => {
    const sessions = [account.session_token];
    while (sessions.length < 5) sessions.push(await newSession(account));
    expect(await valid(sessions)).toEqual([true, true, true, true, true]);
    sessions.push(await newSession(account));
    expect(await valid(sessions)).toEqual([false, true, true, true, true, true]);
    sessions.push(await newSession(account), await newSession(account));
    expect(await valid(sessions)).toEqual([false, false, false, true, true, true, true, true]);
  });

  it("are limited to five per user after twenty simultaneous logins on two nodes", async ({
    own: { account },
    node,
    newSession,
    other,
    valid,
  }) => {
    const sessions = await Promise.all(
      Array.from({ length: 20 }, (_, index) => newSession(account, index % 2 === 0 ? node : other)),
    );
    expect((await valid(sessions)).filter(Boolean)).toHaveLength(5);
    expect(await isAccepted(node, { session: account.session_token })).toBe(false);
  });

  it("do not count toward the five once they have expired or ended", async ({
    own: { account },
    node,
    newSession,
    expire,
    valid,
  }) => {
    const [first, ended, expired] = [
      account.session_token,
      await newSession(account),
      await newSession(account),
    ];
    await node.call("POST", "/api/v1/auth/logout", { session: ended });
    await expire(account, 3);
    const later = [await newSession(account), await newSession(account), await newSession(account)];
    expect(await valid([first, expired, ...later])).toEqual([true, false, true, true, true]);
    later.push(await newSession(account));
    expect(await valid([first, ...later])).toEqual([true, true, true, true, true]);
  });

  it("of other users are not changed", async ({ node, newSession }) => {
    const [account, neighbour] = [await signUp(node), await signUp(node)];
    for (let logins = 0; logins < 6; logins++) await newSession(account);
    expect(await isAccepted(node, { session: neighbour.session_token })).toBe(true);
  });

  it("last seven days to the second", async ({ own: { account }, node, newSession, expire }) => {
    const before = Date.now();
    await newSession(account);
    const left = await secondsLeft(node.pool, "sessions", { user_id: account.user.id, number: 2 });
    expect(left).toBeLessThanOrEqual(604_800);
    expect(left).toBeGreaterThanOrEqual(604_800 - Math.ceil((Date.now() - before) / 1000));
    expect(await isAccepted(node, { session: account.session_token })).toBe(true);
    await expire(account, 1);
    expect(await isAccepted(node, { session: account.session_token })).toBe(false);
    expect(await deleteExpired(node.pool, ["sessions"])).toBeGreaterThan(0);
    expect(await countRows(node.pool, "sessions", { user_id: account.user.id })).toBe(1);
  });

  it.for(["nonsense", `ses_${"0".repeat(64)}`, "x".repeat(5000), "' or true --", "%00"])(
    "are refused when their token is invalid: %s",
    async (session, { node }) => {
      const answer = await node.call("GET", "/api/v1/auth/me", { session });
      expect(answer).toMatchObject({ status: 401, body: { error: "unauthorized" } });
    },
  );
});

describe("logout", () => {
  it("ends the session at once, on every node, and no other", async ({
    own: { account },
    node,
    newSession,
    other,
  }) => {
    const second = await newSession(account);
    expect(await isAccepted(other, { session: account.session_token })).toBe(true);
    const answer = await node.call("POST", "/api/v1/auth/logout", { session: account.session_token });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toEqual({ ok: true });
    expect(await isAccepted(other, { session: account.session_token })).toBe(false);
    expect(await isAccepted(node, { session: account.session_token })).toBe(false);
    expect(await isAccepted(node, { session: second })).toBe(true);
    const again = await node.call("POST", "/api/v1/auth/logout", { session: account.session_token });
    expect(again.status).toBe(401);
  });

  it("accepts a session only", async ({ node }) => {
    const { api_key: key } = await signUp(node);
    const refused = await node.call("POST", "/api/v1/auth/logout", { key });
    expect(refused.status).toBe(403);
    expect(refused.body.error).toContain("X-Session-Token");
    expect((await node.call("POST", "/api/v1/auth/logout")).status).toBe(401);
    const unknownKey = await node.call("POST", "/api/v1/auth/logout", { key: `ak_live_${"0".repeat(64)}` });
    expect(unknownKey.status).toBe(401);
  });
});

describe("logout-all", () => {
  it("ends every session of the user on every node, and keeps the keys and other users' sessions", async ({
    node,
    newSession,
    other,
  }) => {
    const [account, neighbour] = [await signUp(node), await signUp(node)];
    const sessions = [account.session_token, await newSession(account), await newSession(account)];
    const answer = await node.call("POST", "/api/v1/auth/logout-all", { session: sessions[1] });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ok: true, sessions_revoked: true });
    expect(await Promise.all(sessions.map((session) => isAccepted(other, { session })))).toEqual([
      false,
      false,
      false,
    ]);
    expect(await isAccepted(node, { session: neighbour.session_token })).toBe(true);
    expect((await node.call("GET", "/api/v1/auth/me", { key: account.api_key })).status).toBe(200);
    expect(await isAccepted(node, { session: await newSession(account) })).toBe(true);
  });

  it("with an API key ends the sessions of all users of its organization", async ({ node, valid }) => {
    const [account, neighbour] = [await signUp(node), await signUp(node)];
    const colleague = await join(node, account, "member");
    const answer = await node.call("POST", "/api/v1/auth/logout-all", { key: account.api_key });
    expect(answer.body).toEqual({ ok: true, sessions_revoked: true });
    expect(await valid([account.session_token, colleague.session_token, neighbour.session_token])).toEqual([
      false,
      false,
      true,
    ]);
  });

  it("writes an audit entry only when it ended a session", async ({ node }) => {
    const account = await signUp(node);
    for (let times = 0; times < 2; times++) {
      const answer = await node.call("POST", "/api/v1/auth/logout-all", { key: account.api_key });
      expect(answer.status).toBe(200);
    }
    const written = await entries(node, account, "?action=sessions.ended");
    expect(written.map(({ after }) => after)).toEqual([{ sessions_ended: 1 }]);
  });
});
