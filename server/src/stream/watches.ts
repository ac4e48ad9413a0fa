import type pg from "pg";
import type { Log } from "../telemetry/log.ts";

export interface WatchesDeps {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  nodeId: string;
}

/** So long after a stream begins do other nodes report what they see. */
const lookEveryMs = 1_000;
/** A watch of a node that died is over after this. */
const keptMs = 15_000;
const renewEveryMs = 5_000;
/** Clocks of nodes disagree, and the transaction that makes a target takes its time. */
const lateSeconds = 60;

/** Which organizations somebody watches, on any node, by a table that each node looks at once a second. */
export class Watches {
  /** 1 while anybody watches anything; shared with other threads. */
  readonly flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #deps: WatchesDeps;
  readonly #own = new Set<string>();
  #elsewhere = new Set<string>();
  /** The watched organizations; newer targets than this moment (Unix seconds) are still to be looked for. */
  readonly #orgs = new Map<string, number>();
  /** Their targets. */
  readonly #orgOf = new Map<string, string>();
  #renewedAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(deps: WatchesDeps) {
    this.#deps = deps;
  }

  /** The watched organization that the target belongs to. */
  orgOf(targetId: string): string | undefined {
    return this.#orgOf.get(targetId);
  }

  isWatched(orgId: string): boolean {
    return this.#orgs.has(orgId);
  }

  isWatchedElsewhere(orgId: string): boolean {
    return this.#elsewhere.has(orgId);
  }

  noteTarget(orgId: string, targetId: string): void {
    if (this.#orgs.has(orgId)) this.#orgOf.set(targetId, orgId);
  }

  /** This node watches the organization from now on; resolves when its targets are known. */
  async begin(orgId: string): Promise<void> {
    if (this.#own.has(orgId)) return;
    this.#own.add(orgId);
    try {
      await this.#loadTargets([orgId]);
      await this.#renew();
    } catch (error) {
      this.#own.delete(orgId);
      throw error;
    }
  }

  end(orgId: string): void {
    this.#own.delete(orgId);
    void this.#remove("org_id = $2", orgId);
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#looking = this.#look();
    }, lookEveryMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    if (this.#own.size > 0) await this.#remove("true");
  }

  async #look(): Promise<void> {
    try {
      const { rows } = await this.#deps.pool.query<{ org_id: string }>({
        name: "look_for_watches",
        text: `select distinct org_id
               from stream_watches
               where node_id <> $1
                 and until_ms > extract(epoch from clock_timestamp()) * 1000`,
        values: [this.#deps.nodeId],
      });
      this.#elsewhere = new Set(rows.map((row) => row.org_id));
      this.#forgetUnwatched();
      await this.#loadTargets([...new Set([...this.#own, ...this.#elsewhere])]);
      if (performance.now() - this.#renewedAtMs > renewEveryMs) await this.#renew();
    } catch (error) {
      this.#deps.log.warn({ err: error }, "could not look for streams of other nodes; it is tried again");
    }
  }

  async #renew(): Promise<void> {
    this.#renewedAtMs = performance.now();
    if (this.#own.size === 0) return;
    await this.#deps.pool.query({
      name: "renew_watches",
      text: `insert into stream_watches (org_id, node_id, until_ms)
             select w.org_id, $2, extract(epoch from clock_timestamp()) * 1000 + $3
             from unnest($1::uuid[]) as w (org_id)
             on conflict (org_id, node_id) do update set until_ms = excluded.until_ms`,
      values: [[...this.#own], this.#deps.nodeId, keptMs],
    });
  }

  /** New targets only, by the second of their making; one that this node makes is noted at once. */
  async #loadTargets(orgIds: readonly string[]): Promise<void> {
    if (orgIds.length === 0) return;
    const { rows } = await this.#deps.pool.query<{ id: string; org_id: string }>({
      name: "load_watched_targets",
      text: `select t.id, t.org_id
             from unnest($1::uuid[], $2::bigint[]) as w (org_id, since)
             join targets t on t.org_id = w.org_id and t.created_at >= w.since`,
      values: [orgIds, orgIds.map((orgId) => this.#orgs.get(orgId) ?? 0)],
    });
    for (const row of rows) this.#orgOf.set(row.id, row.org_id);
    const sinceSeconds = Math.floor(Date.now() / 1000) - lateSeconds;
    for (const orgId of orgIds) this.#orgs.set(orgId, sinceSeconds);
    this.flag[0] = 1;
  }

  #forgetUnwatched(): void {
    const gone = [...this.#orgs.keys()].filter((id) => !this.#own.has(id) && !this.#elsewhere.has(id));
    if (gone.length === 0) return;
    for (const orgId of gone) this.#orgs.delete(orgId);
    this.flag[0] = Math.min(this.#orgs.size, 1);
    for (const [targetId, orgId] of this.#orgOf) if (!this.#orgs.has(orgId)) this.#orgOf.delete(targetId);
  }

  /** A row that stays lapses by itself. */
  async #remove(which: string, ...values: string[]): Promise<void> {
    await this.#deps.pool
      .query(`delete from stream_watches where node_id = $1 and ${which}`, [this.#deps.nodeId, ...values])
      .catch(() => undefined);
  }
}
