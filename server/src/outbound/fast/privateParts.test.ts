import { EventEmitter } from "node:events";
import { Client, type Dispatcher } from "undici";
import { afterEach, expect, test } from "vitest";
import { expectLookedInto } from "../../../test/support/installedVersions.ts";
import { startRawReceiver } from "../../../test/support/rawReceiver.ts";
import { checkedVersions, privateParts } from "./privateParts.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const get = { method: "GET", path: "/", blocking: false } as const;

/** The origin of a receiver that answers, or one that keeps silent. */
async function origin(answers = true): Promise<string> {
  const receiver = await startRawReceiver((socket) => {
    if (answers) socket.write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
  });
  stops.push(() => receiver.stop());
  return new URL(receiver.url).origin;
}

function clientOf(url: string | URL): Client {
  const client = new Client(url, { pipelining: 1 });
  stops.push(() => client.destroy());
  return client;
}

/** Resolves with what `handler` is told of the request's end. */
function dispatch(client: Client, handler: Dispatcher.DispatchHandler = {}): Promise<Error | null> {
  return new Promise((resolve) => {
    client.dispatch(get, {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      ...handler,
      onResponseEnd(controller, trailers) {
        handler.onResponseEnd?.(controller, trailers);
        resolve(null);
      },
      onResponseError: (_controller, error) => resolve(error),
    });
  });
}

/** What happens first after an answer's end: the next request's start, or the end of the event loop's next turn. */
async function orderAfter(client: Client, start: (dispatchNext: () => void) => void): Promise<string[]> {
  const order: string[] = [];
  await new Promise<void>((resolve) => {
    const next = (): void => {
      void dispatch(client, { onRequestStart: () => void order.push("started") }).then(() => resolve());
    };
    void dispatch(client, {
      onResponseEnd() {
        start(next);
        // Behind the immediate that undici sets after this callback.
        queueMicrotask(() => setImmediate(() => order.push("turn")));
      },
    });
  });
  return order;
}

const checks: Record<(typeof privateParts)[number], () => Promise<void>> = {
  async "a request that is dispatched inside onResponseEnd goes out in the next turn of the event loop, without a look at whether its idle socket was closed"() {
    const client = clientOf(await origin());
    expect(await orderAfter(client, (next) => next())).toEqual(["started", "turn"]);
  },
  async "a client keeps the URL object that it was made with, and asks it for its origin with each request"() {
    let asked = 0;
    class CountedUrl extends URL {
      override get origin(): string {
        asked++;
        return super.origin;
      }
    }
    const client = clientOf(new CountedUrl(await origin()));
    const before = asked;
    for (let count = 0; count < 3; count++) await dispatch(client);
    expect(asked - before).toBeGreaterThanOrEqual(3);
  },
  async "a client that is destroyed fails its request with UND_ERR_DESTROYED, and one that breaks emits an error event"() {
    const client = clientOf(await origin(false));
    expect(client).toBeInstanceOf(EventEmitter);
    const ended = dispatch(client);
    await client.destroy();
    expect(await ended).toMatchObject({ code: "UND_ERR_DESTROYED" });
  },
};

test.each(privateParts)("the pool leans on this habit of undici: %s", async (part) => {
  await expect(checks[part](), part).resolves.toBeUndefined();
});

test("the list of private parts, privateParts.ts, was last looked up in the installed version", () => {
  expectLookedInto(checkedVersions);
});
