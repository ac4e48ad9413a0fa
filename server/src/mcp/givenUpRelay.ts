import { randomBytes } from "node:crypto";
import type pg from "pg";
import { type Listener, listen, notify } from "../postgres/listen.ts";
import type { Log } from "../telemetry/log.ts";

const channel = "postrider_given_up";
/** The most bytes of a call's name. A notification has at most 8,000 bytes, and no client needs longer names. */
const maxNameBytes = 1_000;
/** The most names that wait to be sent. Further names are dropped. */
const maxWaiting = 1_000;

export type GivenUpRelay = ReturnType<typeof createGivenUpRelay>;

/**
 * Sends the cancellation of a call to the node that has the call, by NOTIFY. Each node that agents call has one LISTEN connection
 * outside the pool.
 */
export function createGivenUpRelay(deps: { pool: pg.Pool; log: Pick<Log, "warn"> }) {
  const nodeId = randomBytes(8).toString("hex");
  const waiting: string[] = [];
  let listener: Listener | undefined;
  let telling: Promise<void> | undefined;

  async function tellAll(): Promise<void> {
    while (waiting.length > 0) {
      const payloads = waiting.splice(0).map((name) => `${nodeId} ${name}`);
      await notify(deps, { channel, payloads, lost: "could not tell other nodes that agents gave calls up" });
    }
    telling = undefined;
  }

  return {
    /** Notifies the other nodes. If that fails, it logs a warning; the claimed messages return when their lease ends. */
    tell(name: string): void {
      if (Buffer.byteLength(name) > maxNameBytes || name.includes("\0") || waiting.length >= maxWaiting)
        return;
      waiting.push(name);
      telling ??= tellAll();
    },
    /** Starts to listen; called at each call, and has an effect at the first. */
    listen(hear: (name: string) => void): void {
      listener ??= listen({
        ...deps,
        channel,
        subject: "calls that agents give up",
        hear(payload: string) {
          const from = payload.indexOf(" ");
          if (payload.slice(0, from) !== nodeId) hear(payload.slice(from + 1));
        },
        onConnected: () => undefined,
      });
    },
    async stop(): Promise<void> {
      await telling;
      await listener?.stop();
    },
  };
}
