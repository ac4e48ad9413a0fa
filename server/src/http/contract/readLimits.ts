/** How many requests of one kind an organization may have in this process. */
interface ReadLimit {
  /** So many at a time. */
  underWay: number;
  /** So many wait for a turn; beyond, they are refused. */
  waiting: number;
  /** `Retry-After` of a refused caller, in seconds. */
  retryAfterSeconds: number;
  /** One may hold a connection to the database for seconds, see {@link mostLong}. */
  isLong: boolean;
}

/**
 * The requests that may read much, by what they read. What an index has in order, such as the newest events of a target, takes
 * no turn. The names stand in `RateLimit`.
 */
export const readLimits = {
  /** Counts of replays, in a dry run and at a start: up to two seconds. */
  "replay-counts": { underWay: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Lists that combine filters or skip far. */
  searches: { underWay: 1, waiting: 40, retryAfterSeconds: 2, isLong: true },
  /** Replays of publications, of up to a thousand items. */
  "publication-replays": { underWay: 1, waiting: 20, retryAfterSeconds: 2, isLong: true },
  /** Imports of event types, of up to a thousand types. */
  imports: { underWay: 1, waiting: 5, retryAfterSeconds: 2, isLong: true },
  /** Lists that are merged from many targets, or sorted. */
  lists: { underWay: 3, waiting: 250, retryAfterSeconds: 1, isLong: false },
  /** Statistics; a page asks for those of several targets, six at a time, as browsers do. */
  stats: { underWay: 3, waiting: 60, retryAfterSeconds: 1, isLong: false },
} as const satisfies Record<string, ReadLimit>;

export type ReadKind = keyof typeof readLimits;

/** How long a request waits for its turn before it is answered with 503. */
export const maxWaitMs = 30_000;

/** The part of an organization's places that one of its customers may have; of each kind, one of its requests is under way. */
export const customersPart = 0.25;

/**
 * How many long requests of all kinds and organizations are under way: a quarter of the pool's connections. An organization has
 * one of them, because each may keep a core of the database busy.
 */
export function mostLong(connections: number): number {
  return Math.max(1, Math.floor(connections / 4));
}
