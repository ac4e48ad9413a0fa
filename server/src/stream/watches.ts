import type pg from "pg";
import { firstIdAt } from "../postgres/ids.ts";
import type { Quiet } from "../runtime/quiet.ts";
import type { Log } from "../telemetry/log.ts";

export interface WatchesDeps {
  pool: pg.Pool;
  log: Pick<Log, "warn">;
  nodeId: string;
  quiet: Quiet;
}

interface TargetOf {
  id: string;
  org_id: string;
}

/** How often nodes read the table, and so how long other nodes may take to report their changes to a new stream. */
const lookEveryMs = 1_000;
/** The interval while this node is quiet and has nothing to report. */
const quietLookEveryMs = 10_000;
/** A watch is a lease: if its node dies, it lapses after this time. Until then, other nodes send changes that nobody receives. */
const lease = { ms: 90_000, renewedEveryMs: 30_000 };
/** The least number of known targets at which deleted ones are looked for. */
const minTargets = 1_000;
/** Tolerance for differences between the nodes' clocks and for the duration of the transaction that creates a target. */
const lateMs = 60_000;

/** The organizations that have open streams on any node, from a table that each node reads once a second. */
export class Watches {
  isAnyWatched = false;
  readonly #deps: WatchesDeps;
  readonly #own = new Set<string>();
  #elsewhere = new Set<string>();
  /** The watched organizations whose targets are loaded, except for targets created since the last look. */
  readonly #orgs = new Set<string>();
  /** The organization of each of their targets. */
  readonly #orgOf = new Map<string, string>();
  /** At this number of targets, which grows with them, the deleted ones are forgotten. */
  #forgottenAt = minTargets;
  /** Targets created before this time (Unix milliseconds) have been loaded. */
  #lookedUntilMs = Date.now();
  #renewedAtMs = performance.now();
  #lookedAtMs = 0;
  #removing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(deps: WatchesDeps) {
    this.#deps = deps;
  }

  /** Returns the watched organization that the target belongs to. */
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

  /** Starts to watch an organization on this node; resolves when its targets are loaded. */
  async begin(orgId: string): Promise<void> {
    if (this.#own.has(orgId)) return;
    this.#own.add(orgId);
    try {
      await this.#loadTargets([orgId]);
      await this.#removing;
      await this.#renew([orgId]);
    } catch (error) {
      this.#own.delete(orgId);
      throw error;
    }
  }

  end(orgId: string): void {
    this.#own.delete(orgId);
    const earlier = this.#removing;
    this.#removing = this.#remove("org_id = $2", orgId).then(() => earlier);
  }

  /** Called when the table may have lost its rows: it is unlogged, and empty after a crash of the database. */
  renewSoon(): void {
    this.#renewedAtMs = Number.NEGATIVE_INFINITY;
  }

  start(): void {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      if (this.#deps.quiet.isQuiet() && nowMs - this.#lookedAtMs < quietLookEveryMs) return;
      this.#lookedAtMs = nowMs;
      // The next look is skipped while the last one still waits for the database.
      this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
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
      await this.#loadTargets([...this.#elsewhere].filter((orgId) => !this.#orgs.has(orgId)));
      await this.#loadNewTargets();
      if (this.#orgOf.size >= this.#forgottenAt) await this.#forgetDeleted();
      if (performance.now() - this.#renewedAtMs > lease.renewedEveryMs) {
        this.#renewedAtMs = performance.now();
        await this.#renew([...this.#own]);
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, "could not look for streams of other nodes; it is tried again");
    }
  }

  async #renew(orgIds: readonly string[]): Promise<void> {
    if (orgIds.length === 0) return;
    await this.#deps.pool.query({
      name: "renew_watches",
      text: `insert into stream_watches (org_id, node_id, until_ms)
             select w.org_id, $2, extract(epoch from clock_timestamp()) * 1000 + $3
             from unnest($1::uuid[]) as w (org_id)
             on conflict (org_id, node_id) do update set until_ms = excluded.until_ms`,
      values: [orgIds, this.#deps.nodeId, lease.ms],
    });
  }

  /** Loads all targets of organizations that are watched from now on. */
  async #loadTargets(orgIds: readonly string[]): Promise<readonly TargetOf[]> {
    if (orgIds.length === 0) return [];
    const { rows } = await this.#deps.pool.query<TargetOf>({
      name: "load_watched_targets",
      text: `select t.id, t.org_id
             from unnest($1::uuid[]) as w (org_id)
             join targets t on t.org_id = w.org_id`,
      values: [orgIds],
    });
    for (const row of rows) this.#orgOf.set(row.id, row.org_id);
    for (const orgId of orgIds) this.#orgs.add(orgId);
    this.isAnyWatched = true;
    return rows;
  }

  /** Loads all targets again, once their number has doubled, because no other node tells which ones it deleted. */
  async #forgetDeleted(): Promise<void> {
    const known = [...this.#orgOf.keys()];
    const present = new Set((await this.#loadTargets([...this.#orgs])).map(({ id }) => id));
    for (const id of known) if (!present.has(id)) this.#orgOf.delete(id);
    this.#forgottenAt = Math.max(minTargets, 2 * this.#orgOf.size);
  }

  /**
   * Loads targets that were created on other nodes, by the time in their ids. It reads the new targets of all organizations, so
   * that the cost does not grow with the number of watched ones. A target created on this node is added at once.
   */
  async #loadNewTargets(): Promise<void> {
    const nowMs = Date.now();
    if (this.#orgs.size > 0) {
      const { rows } = await this.#deps.pool.query<TargetOf>({
        name: "load_new_targets",
        text: `select t.id, t.org_id
               from targets t
               where t.id >= $1`,
        values: [firstIdAt(this.#lookedUntilMs - lateMs)],
      });
      for (const row of rows) this.noteTarget(row.org_id, row.id);
    }
    this.#lookedUntilMs = nowMs;
  }

  #forgetUnwatched(): void {
    const gone = [...this.#orgs.keys()].filter((id) => !this.#own.has(id) && !this.#elsewhere.has(id));
    if (gone.length === 0) return;
    for (const orgId of gone) this.#orgs.delete(orgId);
    this.isAnyWatched = this.#orgs.size > 0;
    for (const [targetId, orgId] of this.#orgOf) if (!this.#orgs.has(orgId)) this.#orgOf.delete(targetId);
  }

  /** Deletes this node's rows. A row that remains after an error lapses. */
  async #remove(which: string, ...values: string[]): Promise<void> {
    await this.#deps.pool
      .query(`delete from stream_watches where node_id = $1 and ${which}`, [this.#deps.nodeId, ...values])
      .catch(() => undefined);
  }
}
