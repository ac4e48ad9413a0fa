import { connect, type Socket } from "node:net";
import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { acceptedEvents, listEvents, sendItems } from "./support/items.ts";
import { answerOk, type Receiver } from "./support/receiver.ts";
import { hotRows, storeDueItems, untilNothingIsDue } from "./support/storedItems.ts";
import { stagedTest } from "./support/fixtures.ts";

/* A service, a receiver and a target for each test, because stopping a service takes seconds. */

/** Long, so that no attempt times out and is repeated on a busy machine. */
const it = stagedTest({ POSTRIDER_DELIVERY_TIMEOUT_MS: "60000" }).extend(
  "expectAllDelivered",
  ({ pool, receiver }) =>
    async (ids: Set<string>): Promise<void> => {
      await untilNothingIsDue(pool);
      const seen = receiver.received.map((one) => one.id);
      expect(ids.difference(new Set(seen))).toEqual(new Set());
      // Nothing crashed, so nothing was sent twice.
      expect(seen).toHaveLength(new Set(seen).size);
    },
);

/** Holds the receiver's answers back until `letGo`. */
function holdAnswers(receiver: Receiver): { count: () => number; letGo: () => void } {
  const held: (() => void)[] = [];
  receiver.answer = (received, response) => void held.push(() => answerOk(received, response));
  return {
    count: () => held.length,
    letGo() {
      receiver.answer = answerOk;
      for (const answer of held) answer();
    },
  };
}

describe.concurrent("a service that is told to stop", () => {
  it("under load answers each request completely or does not accept it, and each item is delivered once", async ({
    service,
    account,
    target,
    pool,
    again,
    expectAllDelivered,
  }) => {
    const accepted = new Set<string>();
    const unexpected: unknown[] = [];
    let isRefused = false;
    const senders = Array.from({ length: 16 }, async () => {
      while (!isRefused) {
        try {
          const answer = await service.call("POST", `/t/${target.id}`, { key: account.api_key, body: {} });
          if (answer.status === 202) accepted.add(answer.body.id);
          else unexpected.push(answer);
        } catch {
          // The connection was closed or refused before an answer.
          isRefused = true;
        }
      }
    });
    await until(() => accepted.size > 200);
    const stopped = service.stop();
    await Promise.all(senders);
    expect(await stopped).toBe(0);
    expect(unexpected).toEqual([]);
    expect((await hotRows(pool)).leased).toBe(0);
    const next = await again();
    await expectAllDelivered(accepted);
    expect(await acceptedEvents(next, account)).toBe(accepted.size);
  });

  it("with a backlog ends and records the attempts in flight, and returns the other leased items", async ({
    service,
    account,
    target,
    pool,
    receiver,
    again,
    expectAllDelivered,
  }) => {
    const held = holdAnswers(receiver);
    await storeDueItems(pool, { orgId: account.user.org_id, targetId: target.id, count: 300 });
    await receiver.arrivals(1);
    const stopped = service.stop();
    await until(async () => (await hotRows(pool)).leased === held.count());
    held.letGo();
    expect(await stopped).toBe(0);
    expect(await hotRows(pool)).toEqual({ waiting: 300 - receiver.received.length, leased: 0 });
    const next = await again();
    await expectAllDelivered(new Set());
    expect(receiver.received).toHaveLength(300);
    expect(await listEvents(next, account, "status=DELIVERED")).toHaveLength(300);
  });

  it("with clients that do not finish their requests disconnects them, and finishes all else in order", async ({
    service,
    account,
    target,
    again,
    expectAllDelivered,
  }) => {
    const clients: Socket[] = [];
    for (let count = 0; count < 5; count++) {
      const socket = connect(service.port, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.write(
        `POST /t/${target.id} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.api_key}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
      );
      clients.push(socket);
    }
    const ids = await sendItems(service, account, target.id, 20);
    expect(await service.stop()).toBe(0);
    for (const socket of clients) expect(socket.destroyed || socket.readableEnded).toBe(true);
    await again();
    await expectAllDelivered(new Set(ids));
  });

  it("with an unreachable database ends as well, and nothing is lost", async ({
    start,
    account,
    target,
    pool,
    receiver,
    proxy,
  }) => {
    // The leases lapse ten seconds after the attempts' time limit, when the service has ended.
    const cut = await start({ POSTRIDER_DELIVERY_TIMEOUT_MS: "3000" }, proxy.url);
    const held = holdAnswers(receiver);
    const ids = await sendItems(cut, account, target.id, 10);
    await receiver.arrivals(1);
    proxy.accepts = false;
    proxy.sever();
    const stopped = cut.stop();
    held.letGo();
    // Stopping reached its time limit.
    await stopped;
    expect(cut.output()).toContain("stopping took too long");
    await untilNothingIsDue(pool);
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set(ids));
  });
});
