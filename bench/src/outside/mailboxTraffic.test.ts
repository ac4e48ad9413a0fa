import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { outsideOptions } from "./commandLine.ts";
import { runTraffic, trafficFigures, type Traffic } from "./mailboxTraffic.ts";

interface Behaviour {
  /** How often the first message is handed out; each of its acknowledgements succeeds. */
  claimsOfFirst?: number;
}

/** A mailbox in memory with the routes that the traffic calls. */
async function startMailbox({ claimsOfFirst = 1 }: Behaviour): Promise<string> {
  const waiting: string[] = [];
  let puts = 0;
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      const types = request.rawHeaders.filter((text) => text.toLowerCase() === "content-type");
      if (types.length !== 1) response.writeHead(400).end();
      else if (request.url!.startsWith("/t/")) {
        for (let n = puts++ === 0 ? claimsOfFirst : 1; n > 0; n--) waiting.push(body.toString());
        response.writeHead(202).end();
      } else if (request.url!.endsWith("/claim")) {
        const payload = waiting.shift();
        const messages = payload === undefined ? [] : [{ id: "m", claim_token: "c", payload }];
        setTimeout(() => response.end(JSON.stringify({ messages })), payload === undefined ? 20 : 0);
      } else response.end("{}");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function traffic(behaviour: Behaviour): Promise<Traffic> {
  const base = await startMailbox(behaviour);
  const outside = outsideOptions([
    "--base-url",
    base,
    "--mailbox",
    "m",
    "--producers",
    "2",
    "--consumers",
    "3",
    "--header",
    "content-type: application/json",
  ]);
  if (!("mailbox" in outside)) throw new Error("these are not the options of a mailbox");
  return runTraffic({ ...outside.mailbox, durationMs: 400, patienceMs: 3_000 });
}

test("each message is put, claimed and acknowledged once", async () => {
  const measured = await traffic({});
  expect(measured).toMatchObject({ missing: 0, doubled: 0, failed: 0 });
  expect(measured.putsPerSecond).toBeGreaterThan(0);
  expect(measured.throughPerSecond).toBeGreaterThan(0);
  expect(measured.backlog).toHaveLength(4);
  expect(trafficFigures("both", measured).every(({ isMet }) => isMet !== false)).toBe(true);
});

test("a message that is acknowledged twice is reported", async () => {
  const measured = await traffic({ claimsOfFirst: 2 });
  expect(measured).toMatchObject({ missing: 0, doubled: 1 });
  expect(trafficFigures("both", measured).some(({ isMet }) => isMet === false)).toBe(true);
});

test("a message that is never handed out is reported as missing", async () => {
  expect(await traffic({ claimsOfFirst: 0 })).toMatchObject({ missing: 1, doubled: 0 });
});
