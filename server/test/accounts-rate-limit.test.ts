import { describe, expect, onTestFinished } from "vitest";
import { sweepRateLimits } from "../src/accounts/rateLimit.ts";
import { type Answer, createTestNode, newEmail, type TestNode } from "./support/testNode.ts";
import { file, nodeTest } from "./support/fixtures.ts";
import { countLockWaits, holdRows } from "./support/heldLocks.ts";
import { makeOlder } from "./support/passedTime.ts";
import { rowVersions } from "./support/unseenRows.ts";

const defaults = { POSTRIDER_SIGNUP_LIMIT: "3", POSTRIDER_LOGIN_LIMIT: "5" };

const it = nodeTest(defaults)
  .extend("behindProxy", file, async ({ database }, { onCleanup }) => {
    const behindProxy = createTestNode(database, { ...defaults, POSTRIDER_TRUST_PROXY: "true" });
    onCleanup(() => behindProxy.stop());
    return behindProxy;
  })
  .extend(
    "signUp",
    file,
    ({ node }) =>
      (from: string, on: TestNode = node, body: object = {}): Promise<Answer> =>
        on.call("POST", "/api/v1/auth/signup", {
          body: { email: newEmail(), password: "correct horse", ...body },
          from,
        }),
  )
  .extend(
    "logIn",
    file,
    ({ node }) =>
      (from: string, on: TestNode = node, headers: Record<string, string> = {}): Promise<Answer> => {
        const body = { email: "nobody@example.com", password: "correct horse" };
        return on.call("POST", "/api/v1/auth/login", { body, from, headers });
      },
  );

let addresses = 0;

/** Returns an address that no other test uses. */
function newAddress(): string {
  addresses++;
  return `203.0.113.${addresses}`;
}

async function statuses(count: number, send: (index: number) => Promise<Answer>): Promise<number[]> {
  const answers: number[] = [];
  for (let index = 0; index < count; index++) answers.push((await send(index)).status);
  return answers;
}

describe("limits per client address", () => {
  it("allow three sign-ups and five logins, counted separately and over all nodes", async ({
    signUp,
    node,
    other,
    logIn,
  }) => {
    const from = newAddress();
    expect(await statuses(4, (index) => signUp(from, index % 2 === 0 ? node : other))).toEqual([
      200, 200, 200, 429,
    ]);
    expect(await statuses(6, (index) => logIn(from, index % 2 === 0 ? node : other))).toEqual([
      401, 401, 401, 401, 401, 429,
    ]);
    expect((await signUp(newAddress())).status).toBe(200);
    expect((await logIn(newAddress())).status).toBe(401);
  });

  it("hold after a restart", async ({ logIn, database }) => {
    const from = newAddress();
    await statuses(5, () => logIn(from));
    const restarted = createTestNode(database, defaults);
    try {
      expect((await logIn(from, restarted)).status).toBe(429);
    } finally {
      await restarted.stop();
    }
  });

  it("let exactly five of thirty simultaneous logins through, also when all of them start the count at once", async ({
    logIn,
    node,
    behindProxy,
    other,
  }) => {
    const from = newAddress();
    expect((await logIn(from)).status).toBe(401);
    const letGo = await holdRows(node.pool, "rate_limits", { subject: from });
    onTestFinished(letGo);
    const answers = Array.from({ length: 29 }, (_, index) =>
      logIn(from, index % 2 === 0 ? behindProxy : other),
    );
    // Wait until all connections of both nodes wait for the lock.
    await expect.poll(() => countLockWaits(node.pool)).toBe(10);
    await letGo();
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(4);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
  });

  it("are stated in headers, on success and on refusal", async ({ signUp, logIn }) => {
    const from = newAddress();
    for (const left of [2, 1, 0]) {
      const { status, headers } = await signUp(from);
      expect(status).toBe(200);
      expect(headers["ratelimit-policy"]).toBe('"signup";q=3;w=900');
      expect(headers["ratelimit"]).toMatch(new RegExp(`^"signup";r=${left};t=(900|89\\d)$`));
      expect(headers["retry-after"]).toBeUndefined();
    }
    const { status, headers, body } = await signUp(from);
    expect(status).toBe(429);
    expect(body).toEqual({ error: expect.any(String) });
    expect(headers["retry-after"]).toMatch(/^(900|89\d)$/);
    expect(headers["ratelimit-policy"]).toBe('"signup";q=3;w=900');
    expect(headers["ratelimit"]).toBe(`"signup";r=0;t=${headers["retry-after"]}`);
    const login = await logIn(from);
    expect(login.headers["ratelimit"]).toMatch(/^"login";r=4;t=\d+$/);
    expect(login.headers["ratelimit-policy"]).toBe('"login";q=5;w=900');
  });

  it("end when the database's clock is set back by more than a minute", async ({ node, logIn }) => {
    const from = newAddress();
    expect(await statuses(6, () => logIn(from))).toEqual([401, 401, 401, 401, 401, 429]);
    // These requests were counted while the clock was a day ahead.
    await makeOlder(node.pool, -86_400, "rate_limits", { subject: from });
    expect(await statuses(6, () => logIn(from))).toEqual([401, 401, 401, 401, 401, 429]);
    expect(Number((await logIn(from)).headers["retry-after"])).toBeLessThanOrEqual(900);
  });

  it("end 15 minutes after the window's first request, and refused requests do not prolong it", async ({
    node,
    logIn,
  }) => {
    const from = newAddress();
    const age = (seconds: number): Promise<void> =>
      makeOlder(node.pool, seconds, "rate_limits", { subject: from });
    expect(await statuses(7, () => logIn(from))).toEqual([401, 401, 401, 401, 401, 429, 429]);
    await age(895);
    const refused = await logIn(from);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(6);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    await age(6);
    expect(await statuses(6, () => logIn(from))).toEqual([401, 401, 401, 401, 401, 429]);
  });

  it("count every request with a valid body, and no other", async ({ signUp, node }) => {
    const from = newAddress();
    const bad = [{ password: "short" }, { email: "nobody" }, { email: 5 }, { name: "n".repeat(257) }];
    expect(await statuses(bad.length, (index) => signUp(from, node, bad[index]))).toEqual([
      400, 400, 400, 400,
    ]);
    const email = newEmail();
    expect(await statuses(4, () => signUp(from, node, { email }))).toEqual([200, 200, 200, 429]);
  });

  it("are not written for refused requests", async ({ logIn, node }) => {
    const from = newAddress();
    await statuses(5, () => logIn(from));
    const read = (): Promise<unknown[]> => rowVersions(node.pool, "rate_limits", { subject: from });
    const before = await read();
    expect(await statuses(10, () => logIn(from))).toEqual(Array(10).fill(429));
    expect(await read()).toEqual(before);
  });

  it("group IPv6 addresses by /64 and treat an IPv4-mapped address as IPv4", async ({ logIn }) => {
    const inOneNetwork = (index: number): string => `2001:db8:1:2:${index}::${index + 1}`;
    expect(await statuses(6, (index) => logIn(inOneNetwork(index)))).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await logIn("2001:db8:1:3::1")).status).toBe(401);
    // A link-local client at a bridge.
    expect((await logIn("fe80::1%br-lan")).status).toBe(401);
    const from = newAddress();
    await statuses(5, () => logIn(from));
    expect((await logIn(`::ffff:${from}`)).status).toBe(429);
  });

  it("trust X-Forwarded-For only behind a proxy, and then only the part that the proxy added", async ({
    logIn,
    node,
    behindProxy,
  }) => {
    const proxy = newAddress();
    const forwarded = (value: string): Record<string, string> => ({ "x-forwarded-for": value });
    expect(await statuses(6, (index) => logIn(proxy, node, forwarded(`192.0.2.${index}`)))).toEqual([
      401, 401, 401, 401, 401, 429,
    ]);
    const client = newAddress();
    expect(
      await statuses(6, (index) => logIn(proxy, behindProxy, forwarded(`192.0.2.${index}, ${client}`))),
    ).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await logIn(proxy, behindProxy, forwarded(newAddress()))).status).toBe(401);
    expect((await logIn(client)).status).toBe(429);
  });

  it("apply to a forwarded address that is not valid", async ({ logIn, behindProxy }) => {
    const garbage = (index: number): Record<string, string> => ({ "x-forwarded-for": `garbage-${index}'--` });
    expect(await statuses(6, (index) => logIn(newAddress(), behindProxy, garbage(index)))).toEqual([
      401, 401, 401, 401, 401, 429,
    ]);
  });

  it("leave no rows once their windows have ended", async ({ logIn, node }) => {
    const [ended, running] = [newAddress(), newAddress()];
    await logIn(ended);
    await logIn(running);
    await makeOlder(node.pool, 901, "rate_limits", { subject: ended });
    expect(await sweepRateLimits(node.pool)).toBe(1);
    expect((await logIn(running)).headers["ratelimit"]).toMatch(/^"login";r=3;/);
  });
});
