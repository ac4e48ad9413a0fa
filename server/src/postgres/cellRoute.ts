import type pg from "pg";
import type { Log } from "../telemetry/log.ts";
import { atServer, createPool, type PoolOptions } from "./pool.ts";
import { createMovingPool, type MovingPool } from "./movingPool.ts";
import { checkWorker, placeOfServer, type Placement } from "./cellServers.ts";

/**
 * How a cell's tables are reached: directly at the server that holds them, or through the coordinator of Citus, which always
 * works.
 */
export interface Place {
  /** `host:port`, as Citus knows it. */
  server: string;
  isDirect: boolean;
}

interface RouteOptions extends PoolOptions {
  schema: string;
  cellNumber: number;
  /** A monotonic clock, in milliseconds; the process's own by default. */
  clockMs?: () => number;
}

/** Pause between two tries to use a server that could not be used. */
const retryMs = 10_000;

/** The connections to the server of one cell. They follow the cell when it moves. */
export class CellRoute {
  /**
   * Sessions for calls of the hot path. They can use the tables of the cell and the reference tables; other tables of the
   * control plane may be missing, and schemas cannot be changed.
   */
  readonly pool: pg.Pool;
  readonly #through: pg.Pool;
  readonly #moving: MovingPool;
  readonly #options: RouteOptions;
  #placement: Placement | undefined;
  #isDirect = false;
  #isSaid = false;
  #retryAtMs = 0;
  #failures = 0;
  readonly #clockMs: () => number;

  /** @param through the cell's sessions at the coordinator, which are used until `follow` has found the server. */
  constructor(through: pg.Pool, options: RouteOptions) {
    this.#through = through;
    this.#options = options;
    this.#clockMs = options.clockMs ?? (() => performance.now());
    this.#moving = createMovingPool(through);
    this.pool = this.#moving.pool;
  }

  /** The server of the cell; undefined when Citus has not placed the cell on a server. */
  place(): Place | undefined {
    return this.#placement && { server: placeOfServer(this.#placement), isDirect: this.#isDirect };
  }

  /**
   * Connects directly to the cell's server if that works. Called every second with the current placement, even when it has
   * not changed.
   */
  async follow(placement: Placement, log: Pick<Log, "info" | "warn">): Promise<void> {
    const isMoved =
      this.#placement === undefined || placeOfServer(placement) !== placeOfServer(this.#placement);
    this.#placement = placement;
    if (isMoved) this.#isSaid = false;
    if (isMoved || (!this.#isDirect && this.#clockMs() >= this.#retryAtMs)) await this.#goStraight(log);
    else if (this.#isDirect && this.#moving.failures() !== this.#failures) await this.#leaveIfCutOff(log);
  }

  /** Closes the connections to servers. */
  async end(): Promise<void> {
    await this.#moving.end();
  }

  async #goStraight(log: Pick<Log, "info" | "warn">): Promise<void> {
    const placement = this.#placement!;
    const { cellNumber } = this.#options;
    const fault = await this.#faultOf(placement);
    if (fault !== undefined) {
      this.#goThroughCoordinator(fault, log);
      return;
    }
    this.#moving.move(createPool(this.#optionsAt(placement)));
    this.#isDirect = true;
    this.#failures = this.#moving.failures();
    log.info(
      { cell: cellNumber, server: placeOfServer(placement) },
      "the cell's items go straight to its server",
    );
  }

  /**
   * Switches to the coordinator if only this process cannot reach the server. If the coordinator cannot reach it either,
   * switching would not help.
   */
  async #leaveIfCutOff(log: Pick<Log, "info" | "warn">): Promise<void> {
    this.#failures = this.#moving.failures();
    const fault = await this.#faultOf(this.#placement!);
    if (fault === undefined) return;
    const isReached = await this.#through
      .query(`select bucket from ${this.#options.schema}.deliveries limit 1`)
      .then(
        () => true,
        () => false,
      );
    if (isReached) this.#goThroughCoordinator(fault, log);
  }

  #goThroughCoordinator(err: Error, log: Pick<Log, "warn">): void {
    this.#retryAtMs = this.#clockMs() + retryMs;
    this.#moving.move(this.#through);
    if (this.#isDirect || !this.#isSaid) {
      log.warn(
        { cell: this.#options.cellNumber, server: placeOfServer(this.#placement!), err },
        "the cell's server cannot be used from here: its items go through the coordinator, which costs more; it is tried again every 10 seconds",
      );
    }
    this.#isDirect = false;
    this.#isSaid = true;
  }

  /** Returns why the server cannot be used, or undefined. Opens a connection of its own, because all others may be in use. */
  async #faultOf(placement: Placement): Promise<Error | undefined> {
    let pool: pg.Pool | undefined;
    try {
      pool = createPool({ ...this.#optionsAt(placement), size: 1, onError: () => undefined });
      await checkWorker(pool, this.#options.schema, placement);
      return undefined;
    } catch (error) {
      return error as Error;
    } finally {
      await pool?.end();
    }
  }

  #optionsAt(placement: Placement): PoolOptions {
    const { schema, connection } = this.#options;
    return {
      ...this.#options,
      connection: atServer(connection, placement),
      // The search path is set explicitly, because a default may be set at the coordinator only.
      schema: `${schema}, ${placement.home}`,
    };
  }
}
