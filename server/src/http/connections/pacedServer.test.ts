import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { createPacedServer } from "./pacedServer.ts";

let server: Server | undefined;

afterEach(() => server?.close());

test("pipelined requests whose answers wait for nothing leave the event loop to others in between", async () => {
  const turns: number[] = [];
  let turn = 0;
  server = createPacedServer({}, (_request, response) => {
    turns.push(turn);
    response.end("ok");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.resume().write("GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20));
  while (turns.length < 20) {
    await new Promise((resolve) => setImmediate(resolve));
    turn++;
  }
  client.destroy();

  expect(new Set(turns).size, "turns of the event loop that handled one request each").toBe(20);
});
