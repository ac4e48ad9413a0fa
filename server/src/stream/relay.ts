import type pg from "pg";
import { isJsonObject } from "../http/contract/json.ts";
import { type Listener, listen, notify } from "../postgres/listen.ts";
import type { Log } from "../telemetry/log.ts";
import type { Frame } from "./gatherChanges.ts";

export interface RelayDeps {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  nodeId: string;
  hear: (orgId: string, frames: Frame[]) => void;
  /** Called when frames may have been missed. */
  onGap: () => void;
}

const channel = "postrider_changes";
const lost = "changes could not be sent to the streams of other nodes";
/** PostgreSQL limits a notification to 8,000 bytes. */
const maxPayloadBytes = 7_500;
/** Notifications beyond this number are dropped while the database accepts none. */
const maxWaiting = 1_000;

/** Sends frames by NOTIFY to the nodes that have streams of the organization. */
export function createRelay(deps: RelayDeps) {
  let listener: Listener | undefined;
  let waiting: string[] = [];
  let telling: Promise<void> = Promise.resolve();

  /** Sends one statement at a time: on two connections, a later frame could overtake an earlier one. */
  async function tellWaiting(): Promise<void> {
    const payloads = waiting;
    waiting = [];
    if (payloads.length > 0) await notify(deps, { channel, payloads, lost });
  }

  function startListening(): Listener {
    let hasTried = false;
    const started = listen({
      ...deps,
      channel,
      subject: "changes that other nodes see",
      hear(payload) {
        const [nodeId = "", orgId = ""] = payload.split(" ", 2);
        if (nodeId === deps.nodeId) return;
        deps.hear(orgId, readFrames(payload.slice(nodeId.length + orgId.length + 2)));
      },
      onConnected() {
        // While the first attempt runs, no stream is open that could have missed frames.
        if (hasTried) deps.onGap();
      },
    });
    void started.triedOnce.then(() => (hasTried = true));
    return started;
  }

  return {
    /** Sends frames to other nodes; frames that cannot be sent are dropped with a warning. */
    tell(frames: ReadonlyMap<string, readonly Frame[]>): void {
      const payloads = [...frames].flatMap(([orgId, list]) => packed(deps.nodeId, orgId, list));
      if (payloads.length === 0) return;
      const room = maxWaiting - waiting.length;
      if (payloads.length > room) deps.log.warn({ dropped: payloads.length - room }, lost);
      waiting.push(...payloads.slice(0, room));
      telling = telling.then(tellWaiting);
    },
    /**
     * Starts to listen, at the first stream of this node. Resolves when this node receives the frames of others, or when the
     * first attempt to connect has failed; frames are then missed until a later attempt succeeds.
     */
    async listen(): Promise<void> {
      listener ??= startListening();
      await listener.triedOnce;
    },
    async stop(): Promise<void> {
      await telling;
      await listener?.stop();
    },
  };
}

/** @throws {Error} when the text is not the frames that a node sends. */
function readFrames(text: string): Frame[] {
  const frames: unknown = JSON.parse(text);
  if (Array.isArray(frames) && frames.every(isFrame)) return frames;
  throw new Error("it has no frames");
}

function isFrame(one: unknown): one is Frame {
  return isJsonObject(one) && typeof one["type"] === "string" && typeof one["data"] === "string";
}

/** Packs the frames into as few notifications as possible. */
function packed(nodeId: string, orgId: string, frames: readonly Frame[]): string[] {
  const payloads: string[] = [];
  let parts: string[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (parts.length > 0) payloads.push(`${nodeId} ${orgId} [${parts.join(",")}]`);
    parts = [];
    bytes = 0;
  };
  for (const frame of frames) {
    const part = JSON.stringify(frame);
    const size = Buffer.byteLength(part);
    // Rare: gathered changes are limited to sizes that fit.
    if (size > maxPayloadBytes) continue;
    if (bytes + size > maxPayloadBytes) flush();
    parts.push(part);
    bytes += size + 1;
  }
  flush();
  return payloads;
}
