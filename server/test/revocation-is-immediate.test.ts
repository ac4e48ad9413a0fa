import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { createWebhookTarget, sendItem, sendItems, type WebhookTarget } from "./support/items.ts";
import { answerOk, isSignedWith } from "./support/receiver.ts";
import type { ServiceProcess } from "./support/serviceProcess.ts";
import type { Answer } from "./support/testNode.ts";
import { file, sharedServiceTest } from "./support/fixtures.ts";

const it = sharedServiceTest()
  .extend(
    "send",
    file,
    ({ account }) =>
      (through: ServiceProcess, target: WebhookTarget, key = account.api_key): Promise<Answer> =>
        through.call("POST", `/t/${target.id}`, { key, body: {} }),
  )
  .extend(
    "servedTarget",
    file,
    ({ service, account, receiver, other }) =>
      async (path: string): Promise<WebhookTarget> => {
        const target = await createWebhookTarget(service, account, receiver.url + path);
        await Promise.all([sendItem(service, account, target.id), sendItem(other, account, target.id)]);
        await receiver.arrivals(2, { path });
        return target;
      },
  )
  .extend(
    "change",
    file,
    ({ account }) =>
      (through: ServiceProcess, target: WebhookTarget, body: Record<string, unknown>): Promise<Answer> =>
        through.call("PATCH", `/api/v1/targets/${target.id}`, { key: account.api_key, body }),
  )
  /** A target whose receiver does not answer yet, with items in progress and items waiting in memory. */
  .extend(
    "busyTarget",
    file,
    ({ receiver, service, account }) =>
      async (path: string): Promise<{ target: WebhookTarget; ids: string[]; release: () => void }> => {
        let isHeld = true;
        const held: (() => void)[] = [];
        receiver.answer = (received, response) => {
          if (isHeld && received.path === path) held.push(() => answerOk(received, response));
          else answerOk(received, response);
        };
        const target = await createWebhookTarget(service, account, receiver.url + path);
        const ids = await sendItems(service, account, target.id, 30);
        await receiver.arrivals(1, { path });
        return {
          target,
          ids,
          release() {
            isHeld = false;
            for (const answer of held) answer();
          },
        };
      },
  )
  .extend("statuses", file, ({ other, account }) => async (ids: string[]): Promise<Map<string, number>> => {
    const counts = new Map<string, number>();
    for (const id of ids) {
      const { body } = await other.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
      counts.set(body.event.status, (counts.get(body.event.status) ?? 0) + 1);
    }
    return counts;
  })
  .extend(
    "sentTo",
    file,
    ({ receiver }) =>
      (path: string): number =>
        receiver.at(path).length,
  );

const rounds = Array.from({ length: 5 }, (_, round) => round + 1);

describe.each(rounds)("round %i", (round) => {
  it("a deleted key sends nothing and reads nothing, on any node", async ({
    servedTarget,
    service,
    account,
    other,
    send,
  }) => {
    const target = await servedTarget(`/key-${round}`);
    const created = await service.call("POST", "/api/v1/keys", {
      session: account.session_token,
      body: { name: "k" },
    });
    const { id, key } = created.body;
    for (const one of [service, other]) expect((await send(one, target, key)).status).toBe(202);
    await service.call("DELETE", `/api/v1/keys/${id}`, { key: account.api_key });
    expect((await send(other, target, key)).status).toBe(401);
    expect((await other.call("GET", "/api/v1/targets", { key })).status).toBe(401);
    expect((await send(service, target, key)).status).toBe(401);
  });

  it("a session that was logged out is invalid on every node", async ({ account, service, other }) => {
    const { email } = account.user;
    const { body } = await service.call("POST", "/api/v1/auth/login", {
      body: { email, password: account.password },
    });
    const { session_token: session } = body;
    expect((await other.call("GET", "/api/v1/auth/me", { session })).status).toBe(200);
    await service.call("POST", "/api/v1/auth/logout", { session });
    expect((await other.call("GET", "/api/v1/auth/me", { session })).status).toBe(401);
  });

  it("a disabled target is sent nothing, and gets its items when enabled", async ({
    servedTarget,
    change,
    service,
    send,
    other,
    receiver,
  }) => {
    const target = await servedTarget(`/disabled-${round}`);
    await change(service, target, { enabled: false });
    const held = await send(other, target);
    expect(held).toMatchObject({ status: 202, body: { status: "QUEUED" } });
    await servedTarget(`/after-disabled-${round}`);
    expect(receiver.at(`/disabled-${round}`)).toHaveLength(2);
    await change(other, target, { enabled: true });
    expect((await send(service, target)).status).toBe(202);
    const arrived = await receiver.arrivals(4, { path: `/disabled-${round}` });
    expect(arrived.map((one) => one.id)).toContain(held.body.id);
  });

  it("a deleted target accepts nothing", async ({ servedTarget, service, account, send, other }) => {
    const target = await servedTarget(`/deleted-${round}`);
    await service.call("DELETE", `/api/v1/targets/${target.id}`, { key: account.api_key });
    expect((await send(other, target)).status).toBe(404);
  });

  it("a rotated secret signs the next item, and a deleted one does not", async ({
    servedTarget,
    service,
    account,
    other,
    receiver,
  }) => {
    const path = `/rotated-${round}`;
    const target = await servedTarget(path);
    const call = (method: "POST" | "DELETE", what: string) =>
      service.call(method, `/api/v1/targets/${target.id}/signing-secret/${what}`, { key: account.api_key });
    const { secret } = (await call("POST", "rotate")).body;
    await sendItem(other, account, target.id);
    const rotated = (await receiver.arrivals(3, { path }))[2]!;
    expect([isSignedWith(target.secret, rotated), isSignedWith(secret, rotated)]).toEqual([true, true]);
    await call("DELETE", "previous");
    await sendItem(other, account, target.id);
    const deleted = (await receiver.arrivals(4, { path }))[3]!;
    expect([isSignedWith(target.secret, deleted), isSignedWith(secret, deleted)]).toEqual([false, true]);
  });

  it("a changed URL receives the next item", async ({
    servedTarget,
    change,
    service,
    receiver,
    other,
    account,
  }) => {
    const target = await servedTarget(`/moved-${round}`);
    await change(service, target, { url: `${receiver.url}/moved-here-${round}` });
    const id = await sendItem(other, account, target.id);
    const [arrived] = await receiver.arrivals(1, { path: `/moved-here-${round}` });
    expect(arrived!.id).toBe(id);
  });

  it("a changed event_types list and max_payload_bytes apply to the next item", async ({
    servedTarget,
    change,
    service,
    send,
    other,
    account,
  }) => {
    const target = await servedTarget(`/narrowed-${round}`);
    await change(service, target, { max_payload_bytes: 1 });
    expect((await send(other, target)).status).toBe(413);
    await change(service, target, { max_payload_bytes: 100, event_types: ["wanted"] });
    const id = await sendItem(other, account, target.id, { event_type: "unwanted" });
    const { body } = await other.call("GET", `/api/v1/events/${id}`, { key: account.api_key });
    expect(body.event.status).toBe("FILTERED");
  });
});

describe("an item that waits for a target", () => {
  /** Longer than a node uses its cached data of a target to which nothing is sent. */
  const trustMs = 400;

  it("is CANCELED at once when the target is deleted, even while it is in progress, and is not sent", async ({
    busyTarget,
    other,
    account,
    statuses,
    sentTo,
    servedTarget,
  }) => {
    const { target, ids, release } = await busyTarget("/canceled");
    await other.call("DELETE", `/api/v1/targets/${target.id}`, { key: account.api_key });
    const deletedAtMs = Date.now();
    expect(await statuses(ids)).toEqual(new Map([["CANCELED", 30]]));
    await until(() => Date.now() - deletedAtMs > trustMs);
    const inFlight = sentTo("/canceled");
    release();
    // A later item of another target shows that the nodes have continued.
    await servedTarget("/after-canceled");
    expect(await statuses(ids)).toEqual(new Map([["CANCELED", 30]]));
    expect([inFlight < 30, sentTo("/canceled")]).toEqual([true, inFlight]);
  });

  it("is held when the target is disabled, and sent when it is enabled", async ({
    busyTarget,
    change,
    other,
    sentTo,
    servedTarget,
    receiver,
  }) => {
    const { target, ids, release } = await busyTarget("/held");
    await change(other, target, { enabled: false });
    const disabledAtMs = Date.now();
    await until(() => Date.now() - disabledAtMs > trustMs);
    const inFlight = sentTo("/held");
    release();
    await servedTarget("/after-held");
    expect([inFlight < 30, sentTo("/held")]).toEqual([true, inFlight]);
    await change(other, target, { enabled: true });
    const arrived = await receiver.arrivals(30, { path: "/held" });
    expect(new Set(arrived.map((one) => one.id))).toEqual(new Set(ids));
  });
});
