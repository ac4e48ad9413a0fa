import type { Dispatcher } from "undici";
import type { Socket } from "node:net";
import type { Queued } from "../../runtime/queue.ts";

/** Puts requests on connections: the pool of `fast/`, or undici's own. */
export interface Transport {
  /** Runs the job on a connection to its origin, now or when one becomes free. */
  start(job: Job): void;
  /** Runs the job once more, after its connection broke before any byte of an answer. */
  startAgain(job: Job): void;
  /** Takes a job back that still waits for a connection. */
  withdraw(job: Job): void;
  /** The job has its answer, whose end undici is telling us: ends the job, and frees its connection. */
  release(job: Job): void;
  /** Closes the job's connection at once; its next event is not heard any more. */
  discard(job: Job): void;
  /** Abandons or fails whatever waits or is under way, and closes every connection. */
  close(): void;
}

/** A request that wants a connection. */
export interface Job extends Dispatcher.DispatchHandler, Queued<Job> {
  readonly originUrl: string;
  readonly options: Dispatcher.DispatchOptions;
  /** Set when the job is put on a connection. */
  connection: UsedConnection | null;
  /** Set when undici begins to write the request. */
  controller: Dispatcher.DispatchController | null;
  /** Called instead of a start when the service shuts down. */
  abandon(): void;
  /** Its answer is whole: tells whoever waits for it. Never throws. */
  end(): void;
}

export interface UsedConnection {
  /** Exchanges completed on the present socket; above 0 the peer may have closed it without our knowing. */
  exchanges: number;
}

export interface TransportOptions {
  connect: Connect;
  /** Beyond it, requests to one origin wait for a connection to become free. */
  maxConnectionsPerOrigin: number;
  /** Idle connections kept over all origins; past it the one idle for longest is closed. */
  maxIdleConnections: number;
  keepAliveTimeoutMs: number;
}

/** The other end, as undici describes it. */
export interface Peer {
  protocol: string;
  /** A name, or a literal address without brackets. */
  hostname: string;
  /** Empty for the protocol's own. */
  port: string;
}

export type Connected = (error: Error | null, socket: Socket | null) => void;

/** Opens a connection and returns a function that gives it up; after that, `connected` is not called. */
export type Connect = (peer: Peer, connected: Connected) => () => void;

/** What undici is told of each connection, whoever keeps it. */
export function clientOptions({ keepAliveTimeoutMs }: TransportOptions) {
  return {
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: keepAliveTimeoutMs,
    keepAliveMaxTimeout: maxKeepAliveMs,
    maxHeaderSize: maxHeaderBytes,
    // The deadline of the exchange covers both; undici's own timers would cost one more per request.
    headersTimeout: 0,
    bodyTimeout: 0,
  } as const;
}

const maxHeaderBytes = 16 * 1024;
/** A peer that promises to keep a connection for longer is not believed. */
const maxKeepAliveMs = 60_000;
