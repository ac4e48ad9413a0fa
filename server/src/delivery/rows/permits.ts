import type pg from "pg";
import { int4Array, uuidArray } from "../../postgres/hot/binaryArray.ts";
import { callFunction } from "../../postgres/hot/callFunction.ts";

/** A node's request for permits and for a share of one target. */
export interface PermitWish {
  targetId: string;
  /** Permits to begin an attempt, if the rate is limited. */
  permits: number;
  /** Number of requests it wants to have in flight, if these are limited; 0 returns its share. */
  requests: number;
}

export interface PermitGrant {
  targetId: string;
  permits: number;
  /** Milliseconds from now until the first permit is valid; negative if it was valid earlier. */
  firstInMs: number;
  /** Milliseconds between two permits; null if the rate is not limited. */
  intervalMs: number | null;
  /** How many attempts may begin at once after a pause. */
  burst: number;
  /** Null if requests in flight are not limited. */
  requests: number | null;
}

export interface PermitRequest {
  nodeId: string;
  /** At most one wish per target. */
  wishes: readonly PermitWish[];
  /** Permits are given for times up to this far ahead, at most {@link mostAheadMs}. */
  aheadMs: number;
  /** Duration of a share's lease. */
  leaseMs: number;
}

/** No node takes permits for a time further ahead. */
export const mostAheadMs = 2_000;

/** Takes permits and shares. Deleted targets are missing from the result. */
export async function takePermits(pool: pg.Pool, request: PermitRequest): Promise<PermitGrant[]> {
  // Every node locks rows in the order of target ids, so that two nodes cannot deadlock.
  const wishes = request.wishes.toSorted((one, other) => (one.targetId < other.targetId ? -1 : 1));
  const rows = await callFunction(pool, "take_permits", {
    p_node: request.nodeId,
    p_target_ids: uuidArray(wishes.map(({ targetId }) => targetId)),
    p_permits: int4Array(wishes.map(({ permits }) => permits)),
    p_requests: int4Array(wishes.map(({ requests }) => requests)),
    p_ahead_ms: request.aheadMs,
    p_most_ahead_ms: mostAheadMs,
    p_lease_ms: request.leaseMs,
  });
  return rows.map((row) => ({
    targetId: row.target!,
    permits: row.permits!,
    firstInMs: row.first_in_us! / 1000,
    intervalMs: row.interval_us === null ? null : row.interval_us / 1000,
    burst: row.burst!,
    requests: row.requests,
  }));
}

/** Returns all shares of a node. */
export async function returnShares(pool: pg.Pool, nodeId: string): Promise<void> {
  await pool.query("delete from target_shares where node_id = $1", [nodeId]);
}

/** Removes the rows of stopped nodes and deleted targets. @returns the number of removed rows. */
export async function sweepPermits(pool: pg.Pool): Promise<number> {
  const { rowCount: shares } = await pool.query({
    name: "sweep_shares",
    text: `delete from target_shares
           where until_ms < (extract(epoch from statement_timestamp()) * 1000)::bigint`,
  });
  const { rowCount: paces } = await pool.query({
    name: "sweep_paces",
    text: `delete from target_paces p
           where not exists (
             select
             from targets t
             where t.id = p.target_id
               and (t.rate_limit_per_second is not null or t.max_concurrency is not null)
           )`,
  });
  return (shares ?? 0) + (paces ?? 0);
}
