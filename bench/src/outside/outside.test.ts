import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { outsideOptions } from "./commandLine.ts";
import { hasCompiler } from "./native.ts";
import { outsideFigures, type OutsideOptions } from "./outside.ts";
import { createPublisher } from "./publisher.ts";
import { pidsOf } from "./watched.ts";
import { freePort } from "../../../server/test/support/freePort.ts";

/** Client and receiver run in Node, and also as compiled programs if there is a C compiler. */
const places: [where: string, args: string[]][] = [["in Node", ["--in-node"]]];
if (await hasCompiler()) places.push(["compiled", []]);

interface Behaviour {
  /** How often an event is delivered on each path. */
  copies?: number;
  /** How often the first event is delivered on each path. */
  copiesOfFirst?: number;
  paths?: string[];
  /** Whether events stay missing, so that the measurement waits for `patienceMs`; otherwise it ends with the last event. */
  isLossy?: boolean;
}

/** Starts a service that wraps each event and delivers it. */
async function startService(receiver: string, behaviour: Behaviour): Promise<string> {
  const { copies = 1, copiesOfFirst = copies, paths = ["/a"] } = behaviour;
  let events = 0;
  const server = createServer((request, response) => {
    void buffer(request)
      .then(async (body) => {
        // Limits the number of events in a phase, which takes a second because a busy machine needs that long to begin.
        await delay(20);
        response.writeHead(202).end();
        const delivery = JSON.stringify({ wrapped: body.toString() });
        const times = events++ === 0 ? copiesOfFirst : copies;
        if (request.url === "/neighbour")
          await fetch(`${receiver}/hang`, {
            method: "POST",
            body: delivery,
            signal: AbortSignal.timeout(10_000),
          });
        else
          for (let n = 0; n < times; n++)
            for (const path of paths) await fetch(receiver + path, { method: "POST", body: delivery });
      })
      .catch(() => undefined);
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

type Figures = Record<string, string>;

async function figuresOf(
  base: string,
  port: number,
  args: string[],
  own: Partial<OutsideOptions>,
): Promise<Figures> {
  const outside = outsideOptions([
    "--base-url",
    base,
    "--path",
    "/publish",
    "--receiver-port",
    String(port),
    ...args,
  ]);
  if (!("deliveries" in outside)) throw new Error("these are not the options of deliveries");
  const short = { connections: 2, durationMs: 1_000, patienceMs: 60_000 };
  const figures = await outsideFigures({ ...outside.deliveries, ...short, ...own });
  return Object.fromEntries(
    figures.map(({ name, value, isMet }) => [name, `${value}${isMet === false ? " MISSED" : ""}`]),
  );
}

describe.each(places)("client and receiver %s", (_where, args) => {
  async function measure(behaviour: Behaviour, ...more: string[]): Promise<Figures> {
    const port = await freePort();
    const base = await startService(`http://127.0.0.1:${port}`, behaviour);
    const own = behaviour.isLossy === true ? { patienceMs: 4_000 } : {};
    return figuresOf(base, port, [...args, ...more], own);
  }

  test("measure a service that delivers all it accepts", async () => {
    const figures = await measure({}, "--watch", String(process.pid));
    expect(figures).toMatchObject({
      "accepted and not delivered": "0",
      "delivered more than once": "0",
      "calls that were refused": "0",
      "calls without an answer": "0",
    });
    expect(figures["delivered"]).toMatch(/^[1-9][\d,]*\/s$/);
    expect(figures["processor time per 1,000 deliveries, saturated"]).toMatch(/^\d+.* ms$/);
    expect(figures["memory at the end, saturated"]).toMatch(/^[1-9][\d,]* MB$/);
  });

  test("report an event that was accepted and never delivered", async () => {
    expect((await measure({ copiesOfFirst: 0, isLossy: true }))["accepted and not delivered"]).toBe(
      "1 MISSED",
    );
  });

  test("report an event that was delivered twice", async () => {
    const figures = await measure({ copiesOfFirst: 2 });
    expect(figures["delivered more than once"]).toBe("1");
    expect(figures["accepted and not delivered"]).toBe("0");
  });

  test("count an event once for each path", async () => {
    const figures = await measure({ paths: ["/a", "/b", "/c"] }, "--fan-out", "3");
    expect(figures["accepted and not delivered"]).toBe("0");
    expect(figures["delivered more than once"]).toBe("0");
  });

  test("report deliveries as missing on a path that gets none", async () => {
    const figures = await measure({ paths: ["/a", "/b"], isLossy: true }, "--fan-out", "3");
    expect(figures["accepted and not delivered"]).toMatch(/^[1-9][\d,]* MISSED$/);
  });

  test("send a request of several megabytes whole", async () => {
    const received: number[] = [];
    const server = createServer((request, response) => {
      void buffer(request)
        .then(({ length }) => {
          received.push(length);
          response.writeHead(202).end();
        })
        .catch(() => undefined);
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const call = { url, method: "POST", headers: [], body: '{"id":"{{id}}","data":"{{data}}"}' };
    const dataBytes = 3_000_000;
    const isNative = !args.includes("--in-node");
    const publisher = createPublisher({ run: "bench1", call, connections: 2, dataBytes, isNative });
    await publisher.start();
    const { accepted } = await publisher.publish({ durationMs: 60_000, events: 4 });
    expect(accepted).toBe(4);
    expect(received.every((length) => length > dataBytes)).toBe(true);
  });

  test("post events of a neighbour that hangs", async () => {
    const figures = await measure({}, "--neighbour-path", "/neighbour", "--neighbour-events", "3");
    expect(figures["events of the neighbour accepted"]).toMatch(/^[1-3]$/);
    expect(figures["its requests that hang"]).toBe(figures["events of the neighbour accepted"]);
    expect(figures["accepted and not delivered"]).toBe("0");
    expect(figures).toHaveProperty("from the call to the receiver at 100/s beside a neighbour that hangs");
  });
});

const relay = `
const http = require("node:http");
const [port, receiver] = process.argv.slice(1);
http.createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece)).on("end", () => {
    response.writeHead(202).end();
    fetch(receiver, { method: "POST", body: Buffer.concat(pieces) });
  });
}).listen(port, "127.0.0.1", () => console.log("listening"));`;

test("kills the service and starts it again during the calls", async () => {
  const [port, servicePort] = [await freePort(), await freePort()];
  const args = ["-e", relay, String(servicePort), `http://127.0.0.1:${port}/`];
  const service = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  await once(service.stdout, "data");
  const restart = `exec '${process.execPath}' -e '${relay}' ${servicePort} http://127.0.0.1:${port}/`;
  const measuring = figuresOf(`http://127.0.0.1:${servicePort}`, port, [], {
    durationMs: 6_000,
    patienceMs: 2_000,
    kill: { afterMs: 500, processes: [`:${servicePort}`], restart },
  });
  await Promise.allSettled([measuring]);
  const restarted = await pidsOf(`:${servicePort}`);
  for (const pid of restarted) process.kill(Number(pid), "SIGKILL");
  const figures = await measuring;
  expect(figures["process of the restart command"]!.replaceAll(",", "")).toBe(restarted.join());
  expect(service.signalCode).toBe("SIGKILL");
  expect(Number(figures["calls without an answer"])).toBeGreaterThan(0);
  expect(Number(figures["accepted"])).toBeGreaterThan(0);
});

test.each([
  [["--path", "/"], "bench:outside needs --base-url and --path"],
  [["--base-url", "http://localhost", "--path", "/", "--body", "{}"], "--body must contain {{id}}"],
  [["--base-url", "http://localhost", "--path", "/", "--rate", "ten"], "--rate is not a number: ten"],
  [["--base-url", "http://localhost", "--path", "/", "--kill", ":1"], "--kill and --restart need each other"],
])("refuses %j", (args, message) => {
  expect(() => outsideOptions(args)).toThrow(message);
});
