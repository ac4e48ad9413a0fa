import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { outsideOptions } from "./commandLine.ts";
import { outsideFigures } from "./outside.ts";

/** A service that wraps each event and delivers it `copies` times, the first event `copiesOfFirst` times. */
async function startService(receiver: string, copies: number, copiesOfFirst: number): Promise<string> {
  let events = 0;
  const server = createServer((request, response) => {
    void buffer(request).then(async (body) => {
      response.writeHead(202).end();
      const times = events++ === 0 ? copiesOfFirst : copies;
      for (let n = 0; n < times; n++) {
        const delivery = JSON.stringify({ wrapped: body.toString() });
        await fetch(receiver, { method: "POST", body: delivery });
      }
    });
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

async function measure(copies: number, copiesOfFirst: number): Promise<Record<string, string>> {
  const placeholder = createServer();
  const port = await listen(placeholder);
  await new Promise((resolve) => placeholder.close(resolve));
  const base = await startService(`http://127.0.0.1:${port}/`, copies, copiesOfFirst);
  const options = outsideOptions(["--base-url", base, "--path", "/publish", "--receiver-port", String(port)]);
  const figures = await outsideFigures({ ...options, connections: 2, durationMs: 100, patienceMs: 300 });
  return Object.fromEntries(
    figures.map(({ name, value, isMet }) => [name, `${value}${isMet === false ? " MISSED" : ""}`]),
  );
}

test("measures a service that delivers all it accepts", async () => {
  const figures = await measure(1, 1);
  expect(figures["accepted and not delivered"]).toBe("0");
  expect(figures["delivered more than once"]).toBe("0");
  expect(figures["calls that were not accepted"]).toBe("0");
  expect(figures["delivered"]).toMatch(/^[1-9][\d,]*\/s$/);
});

test("tells of an event that was accepted and never delivered", async () => {
  expect((await measure(1, 0))["accepted and not delivered"]).toBe("1 MISSED");
});

test("tells of an event that was delivered twice", async () => {
  const figures = await measure(1, 2);
  expect(figures["delivered more than once"]).toBe("1");
  expect(figures["accepted and not delivered"]).toBe("0");
});

test.each([
  [["--path", "/"], "bench:outside needs --base-url and --path"],
  [["--base-url", "http://localhost", "--path", "/", "--body", "{}"], "--body has no {{id}}"],
  [["--base-url", "http://localhost", "--path", "/", "--rate", "ten"], "--rate is not a number: ten"],
])("refuses %j", (args, message) => {
  expect(() => outsideOptions(args)).toThrow(message);
});
