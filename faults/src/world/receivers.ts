import type { Random } from "../../../server/test/support/billing/random.ts";
import { type Receiver, startReceiver } from "../../../server/test/support/receiver.ts";
import type { Recorder } from "../history/history.ts";
import { startWire, type Wire } from "./wire/wire.ts";

/** Receivers of webhooks, behind a wire. */
export interface Receivers {
  url: string;
  wire: Wire;
  /** Makes them answer everything at once with 200. */
  calm(): void;
  stop(): Promise<void>;
}

/** How receivers at these paths answer: of a hundred requests so many with 500, and so many with a broken connection. */
const moods = {
  "/prompt": { failed: 0, broken: 0 },
  "/moody": { failed: 8, broken: 4 },
  "/late": { failed: 2, broken: 0 },
  "/shop-a": { failed: 3, broken: 0 },
  "/shop-b": { failed: 0, broken: 3 },
} as const;

const lateMs = 80;

export async function startReceivers(recorder: Recorder, random: Random): Promise<Receivers> {
  let isCalm = false;
  const receiver: Receiver = await startReceiver(({ id, path, body }, response) => {
    const mood = moods[path as keyof typeof moods] ?? moods["/prompt"];
    const luck = random.integer(0, 99);
    const isFailed = !isCalm && luck < mood.failed;
    const isBroken = !isCalm && !isFailed && luck < mood.failed + mood.broken;
    const answered = isBroken ? "broken" : isFailed ? 500 : 200;
    const { number } = JSON.parse(body.toString()) as { number: number };
    recorder.received({ id, number, path, answered });
    if (answered === "broken") response.destroy();
    else if (path === "/late") setTimeout(() => response.writeHead(answered).end(), lateMs);
    else response.writeHead(answered).end();
  });
  const wire = await startWire();
  wire.to = receiver.port;
  return {
    url: `http://127.0.0.1:${wire.port}`,
    wire,
    calm() {
      isCalm = true;
    },
    async stop() {
      await wire.stop();
      await receiver.stop();
    },
  };
}
