import type pg from "pg";

/** The input of a peer's program, as JSON on its command line. */
export interface PeerInput {
  peer: PeerName;
  /** The peer's own database, or the socket of its Redis. */
  store: pg.PoolConfig | { redisSocket: string };
  /** The receiver. */
  url: string;
}

export type PeerName = "graphile-worker" | "pg-boss" | "bullmq";

/** A queue from npm, with the settings that its documentation recommends for speed. */
export interface Peer {
  /** Creates its tables, once, before the programs start. */
  prepare(input: PeerInput): Promise<void>;
  openIntake(input: PeerInput): Promise<PeerIntake>;
  /** Delivers stored jobs until the process ends. */
  work(input: PeerInput, deliver: DeliverJob): Promise<void>;
}

/** Posts a job's payload, signed; `status` is 0 without an answer. */
export type DeliverJob = (id: string, payload: unknown) => Promise<{ status: number; durationMs: number }>;

/** Both methods resolve once the jobs are durable. */
export interface PeerIntake {
  add(job: object): Promise<unknown>;
  addMany(jobs: object[]): Promise<unknown>;
}

/** Deliveries in flight: as many as Postrider may have to its one target in this benchmark. */
export const concurrency = 64;
/** Connections of each peer for accepting jobs: PostgreSQL's 60 connections leave no more when all peers run. */
export const intakeConnections = 14;
/** Attempts per delivery, with a growing backoff. */
export const maxAttempts = 8;

/** The database of a peer that has one. */
export function storeOf({ store }: PeerInput): pg.PoolConfig {
  return store as pg.PoolConfig;
}
