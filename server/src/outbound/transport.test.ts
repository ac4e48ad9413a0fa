import type { Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ok, outboundWith, receiverThat } from "../../test/support/outboundParts.ts";
import type { RawReceiver } from "../../test/support/rawReceiver.ts";
import { until } from "../../test/support/until.ts";
import { createDeadlines } from "../runtime/deadlines.ts";
import { parseNetworks } from "./addressGuard.ts";
import { createConnect } from "./connect.ts";
import { Exchange } from "./exchange.ts";
import type { ExchangeResult } from "./exchangeResult.ts";
import type { Outbound } from "./outbound.ts";
import { createResolve } from "./resolve.ts";
import { Transport } from "./transport.ts";

interface Receiver extends RawReceiver {
  /** Sockets that have carried a request, in the order of their first request. */
  sockets: Socket[];
}

/** Answers every request at once, or never while it `holds`. */
async function receiver(holds = false): Promise<Receiver> {
  const sockets: Socket[] = [];
  const raw = await receiverThat((socket) => {
    if (!sockets.includes(socket)) sockets.push(socket);
    if (!holds) socket.write(ok);
  });
  return Object.assign(raw, { sockets });
}

function receivers(count: number): Promise<Receiver[]> {
  return Promise.all(Array.from({ length: count }, () => receiver()));
}

function get(
  outbound: Outbound,
  { url }: RawReceiver,
  path = "",
  timeoutMs = 5_000,
): Promise<ExchangeResult> {
  return outbound.request({ method: "GET", url: url + path, headers: [], timeoutMs });
}

async function getInTurn(outbound: Outbound, ...from: Receiver[]): Promise<void> {
  for (const each of from) expect(await get(outbound, each)).toMatchObject({ status: 200 });
}

async function requested(from: Receiver, count: number): Promise<void> {
  await until(
    () => from.requests.length,
    (length) => length === count,
  );
}

test("above the limit of idle connections over several origins, the one idle for longest is closed", async () => {
  const [a, b, c, d] = (await receivers(4)) as [Receiver, Receiver, Receiver, Receiver];
  const outbound = outboundWith({ maxIdleConnections: 3 });
  await getInTurn(outbound, a, b, c, a, d);
  await b.closed(1);
  await getInTurn(outbound, c, a, d, b);
  await c.closed(1);
  expect([a, b, c, d].map(({ connections }) => connections)).toEqual([1, 2, 1, 1]);
});

test("idle connections to one origin are closed oldest first, and the most recently used is reused first", async () => {
  const [a, b] = (await receivers(2)) as [Receiver, Receiver];
  const outbound = outboundWith({ maxIdleConnections: 2 });
  await Promise.all([get(outbound, a), get(outbound, a)]);
  expect(a.connections).toBe(2);
  await getInTurn(outbound, a, b);
  await a.closed(1);
  await getInTurn(outbound, a, b);
  expect([a, b].map(({ connections }) => connections)).toEqual([2, 1]);
});

test("an idle connection that its receiver closes does not change the order of the others", async () => {
  const [a, b, c, d, e] = (await receivers(5)) as [Receiver, Receiver, Receiver, Receiver, Receiver];
  const outbound = outboundWith({ maxIdleConnections: 3 });
  await getInTurn(outbound, a, b, c);
  b.sockets[0]!.end();
  await b.closed(1);
  await getInTurn(outbound, d);
  // There was room for the connection, so the first one is still the next to be closed.
  await getInTurn(outbound, a, c, d, e);
  await a.closed(1);
  await getInTurn(outbound, c, d, e);
  expect([a, b, c, d, e].map(({ connections }) => connections)).toEqual([1, 1, 1, 1, 1]);
});

test("requests get connections in the order they came, except those that gave up waiting", async () => {
  const slow = await receiver(true);
  const outbound = outboundWith({ maxConnectionsPerOrigin: 1 });
  const first = get(outbound, slow, "/1");
  const given = [
    get(outbound, slow, "/2", 100),
    get(outbound, slow, "/3"),
    get(outbound, slow, "/4", 100),
    get(outbound, slow, "/5"),
    get(outbound, slow, "/6", 100),
  ];
  for (const index of [0, 2, 4]) {
    expect(await given[index]).toMatchObject({
      kind: "error",
      message: expect.stringMatching(/^no free connection/),
    });
  }
  given.push(get(outbound, slow, "/7"));
  for (const [index, result] of [first, given[1], given[3], given[5]].entries()) {
    await requested(slow, index + 1);
    slow.sockets[0]!.write(ok);
    expect(await result).toMatchObject({ status: 200 });
  }
  expect(slow.requests.map((request) => request.split(" ")[1])).toEqual([
    "/hook/1",
    "/hook/3",
    "/hook/5",
    "/hook/7",
  ]);
  expect(slow.connections).toBe(1);
});

test("when a connection is lost, the first waiting request gets its place", async () => {
  const slow = await receiver(true);
  const outbound = outboundWith({ maxConnectionsPerOrigin: 1 });
  const [lost, next, last] = ["/1", "/2", "/3"].map((path) => get(outbound, slow, path));
  await requested(slow, 1);
  slow.sockets[0]!.resetAndDestroy();
  expect(await lost).toMatchObject({ code: "reset" });
  for (const [index, result] of [next, last].entries()) {
    await requested(slow, index + 2);
    slow.sockets[1]!.write(ok);
    expect(await result).toMatchObject({ status: 200 });
  }
  expect(slow.requests.map((request) => request.split(" ")[1])).toEqual(["/hook/1", "/hook/2", "/hook/3"]);
  expect(slow.connections).toBe(2);
});

test("a repeated request uses a new connection even if others are idle", async () => {
  const first: Socket[] = [];
  const raw = await receiverThat((socket, number) => {
    if (number <= 3) first.push(socket);
    // The three connections are idle together, and each of them meets the keep-alive race.
    if (number === 3) for (const each of first) each.write(ok);
    else if (number > 3) void (first.includes(socket) ? socket.resetAndDestroy() : socket.write(ok));
  });
  const outbound = outboundWith();
  await Promise.all([get(outbound, raw), get(outbound, raw), get(outbound, raw)]);
  expect(raw.connections).toBe(3);
  expect(await get(outbound, raw)).toMatchObject({ status: 200 });
  expect(raw.connections).toBe(4);
});

test("closing ends all waiting requests and closes every connection to every origin", async () => {
  const [quick, slow, other] = await Promise.all([receiver(), receiver(true), receiver(true)]);
  const outbound = outboundWith({ maxConnectionsPerOrigin: 2 });
  await Promise.all([get(outbound, quick), get(outbound, quick)]);
  const inFlight = [slow, slow, other, other].map((each) => get(outbound, each));
  const waiting = [slow, slow, slow, other].map((each) => get(outbound, each));
  await Promise.all([requested(slow, 2), requested(other, 2)]);
  outbound.close();
  for (const result of await Promise.all(inFlight))
    expect(result).toMatchObject({ kind: "error", sent: true });
  for (const result of await Promise.all(waiting)) {
    expect(result).toMatchObject({ kind: "error", code: "local", message: "the service is shutting down" });
  }
  await Promise.all([quick, slow, other].map((each) => each.closed(2)));
  expect([quick, slow, other].map(({ connections }) => connections)).toEqual([2, 2, 2]);
});

test("an origin is forgotten with its last connection, also when a deadline or the limit of a body closes it", async () => {
  const deadlines = createDeadlines();
  const networks = parseNetworks("127.0.0.0/8");
  const connect = createConnect({ networks, resolve: createResolve(), deadlines, connectTimeoutMs: 5_000 });
  const limits = { maxConnectionsPerOrigin: 4, maxIdleConnections: 4, keepAliveTimeoutMs: 60_000 };
  const transport = new Transport({ connect, ...limits });
  onTestFinished(() => transport.end());
  const ask = ({ url }: RawReceiver, timeoutMs: number): Promise<ExchangeResult> =>
    new Promise((ended) => {
      const options = {
        origin: new URL(url).origin,
        method: "GET" as const,
        path: "/",
        headers: [],
        body: null,
      };
      const input = { options, timeoutMs, bodyLimitBytes: 1, repeatable: false };
      const exchange = new Exchange({ transport, deadlines }, input, ended);
      deadlines.add(exchange);
      transport.dispatch(exchange.options, exchange);
    });
  const [silent, wordy] = [await receiver(true), await receiver()];
  expect(await ask(silent, 500)).toMatchObject({ kind: "error", code: "timeout" });
  expect(await ask(wordy, 5_000)).toMatchObject({ kind: "response", truncated: true });
  await until(
    () => Object.keys(transport.stats),
    (origins) => origins.length === 0,
  );
});
