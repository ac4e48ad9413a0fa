import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { consumeMailbox } from "./consumeMailbox.ts";

type Client = Parameters<typeof consumeMailbox>[0];

/** A service with two messages, which one claim gets and which share its token, and the ids of the messages that were released. */
function twoMessages(): { client: Client; released: string[] } {
  const released: string[] = [];
  const messages = ["a", "b"].map((id) => ({ id, claim_token: "of the claim", claim_count: 1, payload: {} }));
  const client = {
    claimMessages: (_id: string, _body: unknown, { signal }: { signal?: AbortSignal }) => {
      const claimed = messages.splice(0);
      if (claimed.length > 0) return Promise.resolve({ messages: claimed });
      return new Promise((_resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
      });
    },
    releaseMessages: (_id: string, body: { messages: { id: string }[] }) => {
      released.push(...body.messages.map(({ id }) => id));
      return Promise.resolve({ results: body.messages.map(({ id }) => ({ id, ok: true, status: 200 })) });
    },
  } as unknown as Client;
  return { client, released };
}

it("an onError that throws stops the consumer, after all messages were released", async () => {
  const { client, released } = twoMessages();
  const handle = (): Promise<void> => Promise.reject(new Error("the handler failed"));
  const { finished } = consumeMailbox(client, "box", handle, {
    concurrency: 2,
    onError() {
      throw new Error("onError failed");
    },
  });
  await expect(finished).rejects.toThrow("onError failed");
  expect(released).toEqual(["a", "b"]);
});

it("the promise of a handler that works for long gets no reaction for each message handled meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const messages = 20_000;
  let claimed = 0;
  const client = {
    claimMessages: (_id: string, { max }: { max: number }) =>
      Promise.resolve({
        messages: Array.from({ length: max }, () => ({
          id: String(claimed++),
          claim_token: "",
          claim_count: 1,
        })),
      }),
    acknowledgeMessages: () => Promise.resolve({ results: [{ ok: true }] }),
  } as unknown as Client;
  const { promise: works, resolve: end } = Promise.withResolvers<void>();
  let [before, after] = [0, 0];
  const usedNow = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const consumer = consumeMailbox(
    client,
    "box",
    ({ id }) => {
      if (id === "0") return works;
      if (id === "1000") before = usedNow();
      if (id !== String(messages)) return undefined;
      after = usedNow();
      end();
      void consumer.stop();
      return undefined;
    },
    { concurrency: 2 },
  );
  await consumer.finished;
  // A reaction takes about 250 bytes. Services of earlier test files in this process use memory meanwhile, too.
  expect((after - before) / messages).toBeLessThan(125);
});
