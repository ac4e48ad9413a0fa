import { randomBytes } from "node:crypto";
import type pg from "pg";
import { type Listener, listen, notify } from "../postgres/listen.ts";
import type { Log } from "../telemetry/log.ts";

const channel = "postrider_given_up";
/** PostgreSQL takes 8,000 bytes a notification; no client needs names as long. */
const maxNameBytes = 1_000;
/** Past this many that wait for the database, more are dropped. */
const maxWaiting = 1_000;

export type GivenUpRelay = ReturnType<typeof createGivenUpRelay>;

/**
 * Carries the word that a call is given up to the node that has the call, by NOTIFY. One connection beside the pool on each node
 * that is called by agents.
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
    /** Tells the other nodes; what cannot be told is dropped with a warning, and the lease then gives back what was claimed. */
    tell(name: string): void {
      if (Buffer.byteLength(name) > maxNameBytes || name.includes("\0") || waiting.length >= maxWaiting)
        return;
      waiting.push(name);
      telling ??= tellAll();
    },
    /** Begins to listen, at the first call of this node. */
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
