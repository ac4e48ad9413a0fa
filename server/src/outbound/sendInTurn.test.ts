import { describe, expect, test } from "vitest";
import { ok, outboundWith, receiverThat } from "../../test/support/outboundParts.ts";
import type { ExchangeResult } from "./exchangeResult.ts";
import type { Outbound } from "./outbound.ts";

/** Sends `count` requests, each when the previous one ends, and returns their results. */
function sendInTurn(outbound: Outbound, urls: string[], count: number): Promise<ExchangeResult[]> {
  return new Promise((resolve) => {
    const results: ExchangeResult[] = [];
    const send = (): void => {
      const url = `${urls[results.length % urls.length]}/${results.length}`;
      outbound.send(
        { method: "POST", url, headers: [], body: Buffer.from("{}"), timeoutMs: 5_000 },
        (result) => {
          results.push(result);
          if (results.length === count) resolve(results);
          else send();
        },
      );
    };
    send();
  });
}

function statuses(results: ExchangeResult[]): (number | string)[] {
  return [...new Set(results.map((result) => (result.kind === "response" ? result.status : result.message)))];
}

describe("requests that start at the end of an answer", () => {
  test("use its connection, in order", async () => {
    const one = await receiverThat((socket) => socket.write(ok));
    expect(statuses(await sendInTurn(outboundWith(), [one.url], 300))).toEqual([200]);
    expect(one.connections).toBe(1);
    expect(one.requests.map((request) => request.split(" ")[1])).toEqual(
      Array.from({ length: 300 }, (_, index) => `/hook/${index}`),
    );
  });

  test("go to other origins on separate connections", async () => {
    const two = await Promise.all([0, 1].map(() => receiverThat((socket) => socket.write(ok))));
    const results = await sendInTurn(outboundWith(), [two[0]!.url, two[0]!.url, two[1]!.url], 300);
    expect(statuses(results)).toEqual([200]);
    expect(two.map(({ connections }) => connections)).toEqual([1, 1]);
  });

  test("may be many at once, to one origin and to others", async () => {
    const two = await Promise.all([0, 1].map(() => receiverThat((socket) => socket.write(ok))));
    const outbound = outboundWith();
    const results: ExchangeResult[] = [];
    await new Promise<void>((resolve) => {
      const send = (generation: number, url: string): void =>
        outbound.send({ method: "GET", url, headers: [], timeoutMs: 5_000 }, (result) => {
          results.push(result);
          // 3 + 9 + … + 243 requests, each starting at the end of another.
          if (generation < 5) for (let each = 0; each < 3; each++) send(generation + 1, two[each % 2]!.url);
          if (results.length === 1 + 3 + 9 + 27 + 81 + 243) resolve();
        });
      send(0, two[0]!.url);
    });
    expect(statuses(results)).toEqual([200]);
  });

  test("survive a receiver that closes after each answer, with or without announcing it", async () => {
    const saying = await receiverThat((socket) => {
      socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    });
    expect(statuses(await sendInTurn(outboundWith(), [saying.url], 50))).toEqual([200]);
    const silent = await receiverThat((socket) => socket.end(ok));
    expect(statuses(await sendInTurn(outboundWith(), [silent.url], 50))).toEqual([200]);
  });

  test("survive answers that are truncated, broken off or not HTTP", async () => {
    let number = 0;
    const answers = [
      ok,
      `HTTP/1.1 200 OK\r\ncontent-length: 40000\r\n\r\n${"x".repeat(40_000)}`,
      "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok",
      "what?\r\n\r\n",
      `${ok}${ok}`,
    ];
    const odd = await receiverThat((socket) => {
      const answer = answers[number++ % answers.length]!;
      if (answer.includes(": 9")) socket.end(answer);
      else socket.write(answer);
    });
    const results = await sendInTurn(outboundWith(), [odd.url], 50);
    expect(results).toHaveLength(50);
    expect(results.filter(({ kind }) => kind === "response").length).toBeGreaterThan(15);
  });

  test("end with errors after the client is closed", async () => {
    const one = await receiverThat((socket) => socket.write(ok));
    const outbound = outboundWith();
    const results = await new Promise<ExchangeResult[]>((resolve) => {
      outbound.send({ method: "GET", url: one.url, headers: [] }, (first) => {
        outbound.close();
        outbound.send({ method: "GET", url: one.url, headers: [] }, (second) => resolve([first, second]));
      });
    });
    expect(results.map(({ kind }) => kind)).toEqual(["response", "error"]);
    expect(one.connections).toBe(1);
  });
});
