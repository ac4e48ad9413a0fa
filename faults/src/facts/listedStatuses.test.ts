import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { listedStatuses } from "./listedStatuses.ts";

const away = { status: 503, body: { error: "the database is away" } };
const page = { status: 200, body: { events: [{ id: "a", status: "DELIVERED" }] } };

/** Starts a server that gives the answers in turn, and repeats the last one. */
async function answering(...answers: { status: number; body: object }[]): Promise<string> {
  let asked = 0;
  const server = createServer((_, response) => {
    const { status, body } = answers[Math.min(asked++, answers.length - 1)]!;
    response.writeHead(status).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the list of events is read again after a 503", async () => {
  expect(await listedStatuses(await answering(away, page), "k")).toEqual(new Map([["a", "DELIVERED"]]));
});

test("a service that keeps answering 503 ends the reading, and the error has its answer", async () => {
  await expect(listedStatuses(await answering(away), "k", 1)).rejects.toThrow(
    '503 for more than 0.001 s, last {"error":"the database is away"}',
  );
});
