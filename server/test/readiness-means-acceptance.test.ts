import { describe, expect } from "vitest";
import { createMailboxTarget } from "./support/items.ts";
import { until } from "./support/until.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { fillDisk, setReadOnly } from "./support/otherHands.ts";
import { bodyOf, signUp } from "./support/testNode.ts";

const it = serviceTest()
  .extend("service", file, ({ newService, proxy }) =>
    newService({ POSTRIDER_DATABASE_TIMEOUT_MS: "1500" }, proxy.url),
  )
  .extend("mailboxId", file, ({ service, account }) => createMailboxTarget(service, account))
  /** Sends one request; rejects long after the time limits of the service are over. */
  .extend("ask", file, ({ service }) => async (path: string, options: RequestInit = {}): Promise<Told> => {
    const response = await fetch(service.url + path, {
      ...options,
      signal: AbortSignal.timeout(30_000),
    });
    const { error } = (await response.json()) as { error?: string };
    return [response.status, error ?? ""];
  })
  .extend(
    "item",
    file,
    ({ ask, account }) =>
      (targetId: string, headers?: Record<string, string>): Promise<Told> =>
        ask(`/t/${targetId}`, json({ hello: 1 }, account.api_key, headers)),
  )
  .extend(
    "send",
    file,
    ({ item, target }) =>
      (): Promise<Told> =>
        item(target.id),
  )
  .extend("untilNotReady", file, ({ ask }) => async (reason: RegExp): Promise<void> => {
    await until(
      () => ask("/readyz"),
      ([status, error]) => status === 503 && reason.test(error),
    );
  })
  /** Waits until an item is accepted; readiness means acceptance. */
  .extend("untilAccepted", file, ({ ask, send }) => async (): Promise<void> => {
    await until(
      () => ask("/readyz"),
      ([status]) => status === 200,
    );
    expect(await send()).toEqual([202, ""]);
  })
  .extend("unreadMessages", file, ({ organization, mailboxId }) => async (): Promise<number> => {
    return (await bodyOf(organization.call("GET", `/api/v1/mailboxes/${mailboxId}/stats`))).ready;
  });

describe("a database that is read-only", () => {
  it("is reported by /readyz and by the refusal of an item, and serves once it is writable", async ({
    database,
    proxy,
    untilNotReady,
    send,
    untilAccepted,
  }) => {
    // Open sessions keep the default with which they began, so they are disconnected.
    await setReadOnly(database.url, true);
    proxy.sever();
    await untilNotReady(/^the database is read-only$/);
    expect(await send()).toEqual([503, "the database is read-only: try again"]);
    await setReadOnly(database.url, false);
    proxy.sever();
    await untilAccepted();
  });
});

describe("a database whose disk is full", () => {
  it("is named as the reason in the refusal of an item", async ({ database, send, untilAccepted }) => {
    const makeRoom = await fillDisk(database.url);
    expect(await send()).toEqual([503, "the disk of the database is full: try again"]);
    await makeRoom();
    await untilAccepted();
  });
});

describe("a database that is frozen", () => {
  it("causes 503 in time on every route, and all routes work again when it thaws", async ({
    proxy,
    account,
    ask,
    item,
    target,
    mailboxId,
    untilAccepted,
  }) => {
    proxy.frozen = true;
    const key = account.api_key;
    // Three rounds, so that abandoned connections and batches that queue behind others count too.
    for (let round = 0; round < 3; round++) {
      expect(await ask("/readyz")).toEqual([503, "the database does not answer in time"]);
      const answers = await Promise.all([
        ...Array.from({ length: 20 }, () => item(target.id)),
        ...Array.from({ length: 5 }, () => item(mailboxId)),
        ask("/api/v1/events", { headers: bearer(key) }),
        ask("/api/v1/targets", { headers: bearer(key) }),
        ask("/api/v1/auth/login", json({ email: account.user.email, password: account.password })),
        ask(`/api/v1/mailboxes/${mailboxId}/claim`, json({ max: 1, wait_seconds: 1 }, key)),
        ask(`/api/v1/mailboxes/${mailboxId}/stats`, { headers: bearer(key) }),
        ask(`/api/v1/targets/${target.id}`, { ...json({ name: "x" }, key), method: "PATCH" }),
      ]);
      for (const [status, text] of answers) {
        expect(text).toMatch(/^(the database does not answer in time|the service cannot reach its database)/);
        expect(status).toBe(503);
      }
    }
    proxy.frozen = false;
    await untilAccepted();
  });

  it("causes 503 in time for a key that is used for the first time", async ({
    proxy,
    service,
    ask,
    target,
    untilAccepted,
  }) => {
    const { api_key: key } = await signUp(service);
    proxy.frozen = true;
    const answers = await Promise.all([
      ask("/api/v1/targets", { headers: bearer(key) }),
      ask(`/t/${target.id}`, json({ hello: 1 }, key)),
    ]);
    expect(answers.map(([status]) => status)).toEqual([503, 503]);
    proxy.frozen = false;
    await untilAccepted();
  });

  it("accepts items with one idempotency key once, whatever the outcome of the abandoned request", async ({
    proxy,
    item,
    mailboxId,
    unreadMessages,
  }) => {
    const headers = { "idempotency-key": "order-1" };
    proxy.frozen = true;
    const [status, text] = await item(mailboxId, headers);
    expect([status, text]).toEqual([503, expect.stringMatching(/Idempotency-Key/)]);
    proxy.frozen = false;
    await until(
      () => item(mailboxId, headers),
      ([code]) => code === 202,
    );
    const stored = await unreadMessages();
    await item(mailboxId, headers);
    expect(await unreadMessages()).toBe(stored);
  });
});

type Told = [status: number, error: string];

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

function json(body: unknown, key?: string, headers: Record<string, string> = {}): RequestInit {
  return {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...(key !== undefined && bearer(key)), ...headers },
  };
}
