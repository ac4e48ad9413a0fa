import { randomBytes } from "node:crypto";
import type { Changes } from "../items/changes.ts";
import type { Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";
import { type Frame, GatheredChanges } from "./gatherChanges.ts";
import { StreamHub } from "./hub.ts";
import { createRelay } from "./relay.ts";
import { Watches } from "./watches.ts";
import { runningHosts } from "../postgres/processes.ts";
import type { Parts } from "../items/parts.ts";

export type Streams = ReturnType<typeof createStreams>;

export interface StreamsDeps extends Pick<Parts, "pool" | "nowMs"> {
  log: Pick<Log, "warn">;
  quiet: Quiet;
}

const tagLength = 8;

/** The streams of one node. Its changes go to local streams and to other nodes that have streams of the organization. */
export function createStreams({ pool, log, nowMs, quiet }: StreamsDeps) {
  const nodeId = randomBytes(8).toString("hex");
  const nodeTag = nodeId.slice(0, tagLength);
  const watches = new Watches({ pool, log, nodeId, quiet });
  let telling: Promise<void> = Promise.resolve();
  const relay = createRelay({
    pool,
    log,
    nodeId,
    hear: (orgId, frames) => tellHere(new Map([[orgId, frames]])),
    onGap() {
      hub.forgetAll();
      watches.renewSoon();
    },
  });
  const hub = new StreamHub({
    pool,
    log,
    nowMs,
    nodeTag,
    async begin(orgId) {
      await relay.listen();
      await watches.begin(orgId);
    },
    hasOthers: async () => (await runningHosts(pool)).length > 1,
    end: (orgId) => watches.end(orgId),
  });
  const turns = createTurns(watches, nowMs, (frames) => {
    tellHere(frames);
    relay.tell(new Map([...frames].filter(([orgId]) => watches.isWatchedElsewhere(orgId))));
  });

  /** Delivers frames one batch after the other, so that they stay in order. */
  function tellHere(frames: Map<string, Frame[]>): void {
    telling = telling.then(() => hub.deliver(frames));
  }

  return {
    hub,
    changes: turns.changes,
    start(): void {
      watches.start();
      hub.start();
    },
    /** Ends all streams; the clients reconnect to another node. */
    endAll: () => hub.stop(),
    async stop(): Promise<void> {
      turns.stop();
      await telling;
      await relay.stop();
      await watches.stop();
    },
  };
}

/** Changes are sent in turns, so that a burst is one write per stream. */
const turnMs = 200;

/** Gathers the changes of watched organizations and passes on the frames of each turn. */
function createTurns(
  watches: Watches,
  nowMs: () => number,
  tell: (frames: Map<string, Frame[]>) => void,
): { changes: Changes; stop: () => void } {
  let gathered = new Map<string, GatheredChanges>();
  let timer: NodeJS.Timeout | undefined;

  function gather(orgId: string): GatheredChanges {
    const present = gathered.get(orgId);
    if (present !== undefined) return present;
    const made = new GatheredChanges(nowMs());
    gathered.set(orgId, made);
    timer ??= setTimeout(endTurn, turnMs);
    return made;
  }

  function endTurn(): void {
    timer = undefined;
    const frames = new Map<string, Frame[]>();
    for (const [orgId, changes] of gathered) frames.set(orgId, changes.frames(nowMs()));
    gathered = new Map();
    tell(frames);
  }

  return {
    stop: () => clearTimeout(timer),
    changes: {
      isWatched: () => watches.isAnyWatched,
      isTargetWatched: (targetId) => watches.orgOf(targetId) !== undefined,
      publish(targetId, change) {
        const orgId = watches.orgOf(targetId);
        if (orgId !== undefined) gather(orgId).add(targetId, change);
      },
      publishTarget(orgId, targetId) {
        if (!watches.isWatched(orgId)) return;
        watches.noteTarget(orgId, targetId);
        gather(orgId).add(targetId, { type: "target", data: { id: targetId } });
      },
    },
  };
}
