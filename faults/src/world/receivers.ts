import type { Random } from "../../../server/test/support/billing/random.ts";
import { type Receiver, startReceiver } from "../../../server/test/support/receiver.ts";
import type { Recorder } from "../history/history.ts";
import { startWire, type Wire } from "./wire/wire.ts";

/** Receivers of webhooks, reached through a wire. */
export interface Receivers {
  wire: Wire;
  /** Opens the receivers of one episode and returns their base URL. */
  open(name: string, audience: Audience): string;
  /** Makes all receivers answer with 200 at once. */
  calm(): void;
  stop(): Promise<void>;
}

/** Recorder of requests to an episode's receivers, and the random source for their answers. */
export interface Audience {
  recorder: Recorder;
  random: Random;
}

/** Percentages of requests at each path that are answered with 500 or with a broken connection. */
const moods = {
  "/prompt": { failed: 0, broken: 0 },
  "/moody": { failed: 8, broken: 4 },
  "/late": { failed: 2, broken: 0 },
  "/shop-a": { failed: 3, broken: 0 },
  "/shop-b": { failed: 0, broken: 3 },
} as const;

const lateMs = 80;

export async function startReceivers(): Promise<Receivers> {
  const audiences = new Map<string, Audience & { isCalm: boolean }>();
  const receiver: Receiver = await startReceiver(
    ({ id: webhookId, headers, path: whole, body }, response) => {
      // Old versions that do not send `x-event-id` gave each replay a webhook-id of its own.
      const id = String(headers["x-event-id"] ?? webhookId);
      const [, name, place] = whole.split("/");
      const { recorder, random, isCalm } = audiences.get(name!)!;
      const path = `/${place}`;
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
    },
  );
  const wire = await startWire();
  wire.to = receiver.port;
  return {
    wire,
    open(name, audience) {
      audiences.set(name, { ...audience, isCalm: false });
      return `http://127.0.0.1:${wire.port}/${name}`;
    },
    calm() {
      for (const audience of audiences.values()) audience.isCalm = true;
    },
    async stop() {
      await wire.stop();
      await receiver.stop();
    },
  };
}
