import type pg from "pg";
import type { DeliverJob } from "./deliverJob.ts";

/** What a program of a peer is told on its command line, as JSON. */
export interface PeerInput {
  peer: PeerName;
  /** The peer's own database, or the socket of its Redis. */
  store: pg.PoolConfig | { redisSocket: string };
  /** Where jobs are delivered to. */
  url: string;
}

export type PeerName = "graphile-worker" | "pg-boss" | "bullmq";

/** A queue from npm, used in the way that its documentation calls fast. */
export interface Peer {
  /** Makes its tables, once, before the programs start. */
  prepare(input: PeerInput): Promise<void>;
  openIntake(input: PeerInput): Promise<PeerIntake>;
  /** Delivers what is stored until the process ends. */
  work(input: PeerInput, deliver: DeliverJob): Promise<void>;
}

/** Both ways resolve once the jobs are durable. */
export interface PeerIntake {
  add(job: object): Promise<unknown>;
  addMany(jobs: object[]): Promise<unknown>;
}

/** As many deliveries under way as Postrider has to one target here. */
export const concurrency = 64;
/** Of each peer to take jobs in; as many as the cluster's 60 leave when all run. */
export const intakeConnections = 14;
/** A failed delivery is tried again so many times, with a backoff that grows. */
export const maxAttempts = 8;

/** The database of a peer that has one. */
export function storeOf({ store }: PeerInput): pg.PoolConfig {
  return store as pg.PoolConfig;
}
