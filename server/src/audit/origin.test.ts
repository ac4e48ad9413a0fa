import { connect, type AddressInfo } from "node:net";
import fastify, { type FastifyRequest } from "fastify";
import { expect, it } from "vitest";
import { traceOf } from "./origin.ts";

it("a change is recorded without an address if its client has disconnected", async () => {
  const app = fastify();
  const left = new Promise<FastifyRequest>((resolve) => {
    app.get("/", (request) => {
      request.raw.socket.once("close", () => resolve(request));
      client.destroy();
    });
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  client.write("GET / HTTP/1.1\r\nHost: x\r\nUser-Agent: someone\r\n\r\n");
  expect(traceOf(await left)).toMatchObject({ clientAddress: null, userAgent: "someone" });
  await app.close();
});
