import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type pg from "pg";
import { type Agents, noMask } from "../../src/handoff/agent/agent.ts";
import { Follower } from "../../src/handoff/follow/follower.ts";
import type { RecordDeps } from "../../src/handoff/record/handoffStore.ts";
import { parseNetworks } from "../../src/outbound/addressGuard.ts";
import { createOutbound } from "../../src/outbound/outbound.ts";
import { bucketOf, newId } from "../../src/postgres/ids.ts";
import { neverQuiet } from "../../src/runtime/quiet.ts";
import { createLog } from "../../src/telemetry/log.ts";

/** Adds due polls whose tasks are past their retention. */
export async function addDuePolls(pool: pg.Pool, targetId: string, count: number): Promise<void> {
  for (let added = 0; added < count; added++) {
    const id = newId(bucketOf(targetId), Date.now());
    await pool.query(
      `insert into handoff_polls (bucket, event_id, target_id, due_at, deadline_at)
       values ($1, $2, $3, 1, 9e15)`,
      [bucketOf(id), id, targetId],
    );
  }
}

/** Adds a due poll of a task that belongs to the same organization as the handoff of `eventId`. */
export async function addFollowed(pool: pg.Pool, targetId: string, eventId: string): Promise<void> {
  await addDuePolls(pool, targetId, 1);
  await pool.query(
    `insert into handoffs (bucket, event_id, org_id, target_id, accepted_at, task_id, updated_at)
     select p.bucket, p.event_id, h.org_id, p.target_id, 1, 't1', 1
     from handoff_polls p
     join handoffs h on h.event_id = $2
     where p.target_id = $1
     on conflict do nothing`,
    [targetId, eventId],
  );
}

/** A follower that pauses for five seconds when it has no room or finds nothing, its number of claims, and its polls' results. */
export function createFollower(deps: RecordDeps, getAgent: Agents["get"]) {
  const outbound = createLocalOutbound();
  const looks: string[] = [];
  let claims = 0;
  const follower = new Follower({
    ...deps,
    outbound,
    agents: { get: getAgent },
    random: Math.random,
    rereadCard: () => Promise.resolve("same"),
    log: createLog("silent"),
    metrics: { looked: (look) => looks.push(look) },
    newToken: () => ++claims,
    quiet: { ...neverQuiet, isQuiet: () => true },
  });
  return { follower, outbound, looks, claims: () => claims };
}

export function createLocalOutbound() {
  return createOutbound({
    allowHttp: true,
    networks: parseNetworks("127.0.0.0/8"),
    userAgent: "Postrider/test",
  });
}

/** Starts an agent that answers every request alike. */
export async function startEqualAgent(targetId: string, answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const agent = {
    targetId,
    version: 1,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a2a`,
    tenant: null,
    extensions: [],
    pushNotifications: false,
    credential: { header: null, mask: noMask },
  };
  return { agent, server };
}
