import type { ServerResponse } from "node:http";
import { describe, expect } from "vitest";
import { until } from "./support/until.ts";
import { acceptedEvents, createWebhookTarget, readEvent, sendItem } from "./support/items.ts";
import { file, serviceTest } from "./support/fixtures.ts";
import { makeDue } from "./support/passedTime.ts";

/** The answers of each path, by the number of the request to it, from 1. */
const answers = new Map<string, (response: ServerResponse, number: number) => void>();

/** Longer than an answering receiver needs on a busy machine. */
const it = serviceTest({ POSTRIDER_DELIVERY_TIMEOUT_MS: "5000" })
  .extend(
    "sendTo",
    file,
    ({ service, account, receiver }) =>
      async (
        path: string,
        answer: (response: ServerResponse, number: number) => void,
        fields: Record<string, unknown> = {},
      ): Promise<Sent> => {
        answers.set(path, answer);
        const schedule = { retry_interval_seconds: 1, max_retries: 2, ...fields };
        const { id: targetId } = await createWebhookTarget(service, account, receiver.url + path, schedule);
        return { id: await sendItem(service, account, targetId, { path }), targetId, path };
      },
  )
  /** Time from the end of the event's attempt of this number until the next is due, accurate to a second. */
  .extend(
    "waitMsAfter",
    file,
    ({ service, account }) =>
      async (id: string, attempt: number): Promise<number> => {
        const { event, delivery_attempts: attempts } = await until(
          () => readEvent(service, account, id),
          (view) => view.delivery_attempts.length >= attempt && view.event.status !== "QUEUED",
        );
        const inOrder = attempts.toSorted((one, other) => one.attempted_at - other.attempted_at);
        const [last, next] = inOrder.slice(attempt - 1);
        const dueAt = next?.attempted_at ?? event.next_attempt_at ?? 0;
        return (dueAt - last!.attempted_at) * 1000 - last!.duration_ms;
      },
  )
  /** Makes the event's next attempt due now. */
  .extend(
    "hasten",
    file,
    ({ pool }) =>
      (id: string): Promise<void> =>
        makeDue(pool, id),
  );

it.beforeAll(({ receiver }) => {
  receiver.answer = ({ path }, response) => {
    const number = receiver.at(path).length;
    answers.get(path)!(response, number);
  };
});

interface Sent {
  id: string;
  targetId: string;
  path: string;
}

function fail(response: ServerResponse): void {
  response.writeHead(500).end("not today");
}

/** The time within which the end of an attempt is recorded on a busy machine; the wait begins with the record. */
const writtenWithinMs = 10_000;

function expectWait(waitMs: number, shortestMs: number, longestMs: number): void {
  expect(waitMs).toBeGreaterThanOrEqual(shortestMs - 1_000);
  expect(waitMs).toBeLessThanOrEqual(longestMs + 1_000 + writtenWithinMs);
}

describe.concurrent("a delivery that fails", () => {
  it("is tried again after the interval, then after three times the interval, and ends FAILED", async ({
    sendTo,
    waitMsAfter,
    hasten,
    settled,
    receiver,
  }) => {
    const { id, path } = await sendTo("/always", fail, { retry_interval_seconds: 60 });
    const waiting = await settled(id, "RETRYING");
    expect(waiting.event).toMatchObject({ max_retries: 2 });
    expect(waiting.delivery_attempts[0]).toMatchObject({
      status_code: 500,
      error: "receiver answered 500",
      response_body: "not today",
    });
    expectWait(await waitMsAfter(id, 1), 48_000, 72_000);
    await hasten(id);
    expectWait(await waitMsAfter(id, 2), 144_000, 216_000);
    await hasten(id);
    const { event, delivery_attempts: attempts } = await settled(id, "FAILED");
    expect(event.retry_count).toBe(2);
    expect(attempts.map((attempt) => attempt.status_code)).toEqual([500, 500, 500]);
    expect(receiver.at(path).map((one) => one.id)).toEqual([id, id, id]);
  });

  it("that times out is tried again, and is DELIVERED when the receiver recovers", async ({
    sendTo,
    receiver,
    settled,
  }) => {
    const { id, path } = await sendTo("/recovers", (response, number) => {
      if (number > 1) response.writeHead(204).end();
    });
    await receiver.arrivals(2, { path });
    const { event, delivery_attempts: attempts } = await settled(id, "DELIVERED");
    expect(event.retry_count).toBe(1);
    expect(attempts).toMatchObject([
      { status_code: 0, error: "no answer within 5 s" },
      { status_code: 204, error: null },
    ]);
  });

  it("with max_retries 0 is tried once", async ({ sendTo, settled, receiver }) => {
    const { id, path } = await sendTo("/once", fail, { max_retries: 0 });
    const { delivery_attempts: attempts } = await settled(id, "FAILED");
    expect(attempts).toHaveLength(1);
    expect(receiver.at(path)).toHaveLength(1);
  });

  it.for<[what: string, value: () => string, shortestMs: number, longestMs: number]>([
    ["seconds", () => "120", 120_000, 120_000],
    ["a date", () => new Date(Date.now() + 100_000).toUTCString(), 90_000, 100_000],
    ["seconds, when the schedule's wait is longer", () => "5", 48_000, 72_000],
    ["nonsense: the schedule's wait", () => "soon", 48_000, 72_000],
  ])(
    "honours Retry-After as %s",
    async ([what, value, shortestMs, longestMs], { sendTo, waitMsAfter, hasten, settled }) => {
      const answer = (response: ServerResponse, number: number): void => {
        if (number > 1) response.writeHead(200).end();
        else response.writeHead(503, { "retry-after": value() }).end();
      };
      const path = `/after-${what.replaceAll(/\W/g, "")}`;
      const { id } = await sendTo(path, answer, { retry_interval_seconds: 60 });
      expectWait(await waitMsAfter(id, 1), shortestMs, longestMs);
      await hasten(id);
      await settled(id, "DELIVERED");
    },
  );

  it("can be replayed after it ended: a new event, not billed, with the full schedule", async ({
    sendTo,
    settled,
    call,
    service,
    account,
    receiver,
  }) => {
    const { id, path, targetId } = await sendTo("/replayed", (response, number) => {
      response.writeHead(number <= 3 ? 500 : 200).end();
    });
    const before = await settled(id, "FAILED");
    const usage = await acceptedEvents(service, account);
    const { status, body } = await call("POST", `/api/v1/events/${id}/replay`);
    expect([status, body]).toEqual([202, { id: expect.any(String), status: "QUEUED", source_event_id: id }]);
    expect(body.id).not.toBe(id);
    const { event } = await settled(body.id, "DELIVERED");
    expect(event).toMatchObject({ is_replay: 1, source_event_id: id, endpoint_id: targetId });
    const received = await receiver.arrivals(4, { path });
    expect([received.at(-1)!.id, received.at(-1)!.headers["x-event-id"]]).toEqual([id, body.id]);
    expect(received.at(-1)!.body.equals(received[0]!.body)).toBe(true);
    const replayed_by = { id: body.id, status: "DELIVERED", created_at: expect.any(Number) };
    expect(await readEvent(service, account, id)).toEqual({
      ...before,
      event: { ...before.event, replayed_by },
    });
    expect(await acceptedEvents(service, account)).toBeGreaterThanOrEqual(usage);
  });
});

it("a waiting delivery is sent at once when its target is enabled again, with the full schedule", async ({
  sendTo,
  settled,
  call,
  receiver,
}) => {
  let isHealthy = false;
  const { id, path, targetId } = await sendTo(
    "/enabled-again",
    (response) => response.writeHead(isHealthy ? 200 : 500).end(),
    { retry_interval_seconds: 3600 },
  );
  await settled(id, "RETRYING");
  const enable = (enabled: boolean) => call("PATCH", `/api/v1/targets/${targetId}`, { enabled });
  await enable(false);
  isHealthy = true;
  await enable(true);
  await receiver.arrivals(2, { path });
  const { event } = await settled(id, "DELIVERED");
  expect(event.retry_count).toBe(1);
});
