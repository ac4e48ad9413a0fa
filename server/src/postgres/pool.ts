import pg from "pg";
import { functionSchema } from "./functionSchema.ts";
import { connectionOf } from "./hot/privateParts.ts";
import { limited, queryTimeoutMs, unanswered } from "./hot/queryLimit.ts";
import { notePool, tapRows } from "./hot/rowTap.ts";

/*
 * Ids are read from the database in the form of the interface, 32 hex characters without dashes, and bigint columns as
 * numbers: all of them are times, counts and tokens below 2^53.
 */
const uuidOid = 2950;
const uuidArrayOid = 2951;
const int8Oid = 20;
const int8ArrayOid = 1016;
const textArrayOid: number = 1009;
const readTexts = pg.types.getTypeParser(textArrayOid, "text") as (text: string) => (string | null)[];
const types = {
  getTypeParser(oid: number, format?: "text" | "binary"): (text: string) => unknown {
    if (oid === uuidOid && format !== "binary") return (text: string) => text.replaceAll("-", "");
    if (oid === uuidArrayOid && format !== "binary") return readUuids;
    if (oid === int8Oid && format !== "binary") return Number;
    if (oid === int8ArrayOid && format !== "binary") return readNumbers;
    return pg.types.getTypeParser(oid, format) as (text: string) => unknown;
  },
};

function readNumbers(text: string): (number | null)[] {
  return readTexts(text).map((value) => (value === null ? null : Number(value)));
}

function readUuids(text: string): (string | null)[] {
  return readTexts(text.replaceAll("-", ""));
}

/** The address of a PostgreSQL server: a URL, or the parts of the embedded server's connection. */
export type DatabaseConnection = { url: string } | ServerConnection;

/** `host` is the socket's directory on systems with Unix sockets. */
export interface ServerConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
}

/**
 * The driver's configuration of a connection. For the embedded server it overrides PGSSLMODE, PGOPTIONS and the other
 * environment variables from which the driver takes missing settings, because these are meant for other servers. They may
 * complete the URL of an external server.
 */
export function clientConfig(connection: DatabaseConnection): pg.ClientConfig {
  if ("url" in connection) return { connectionString: connection.url };
  // The driver treats an empty text as missing; PostgreSQL finds no option in a blank.
  return { ...connection, ssl: false, sslnegotiation: "postgres", options: " " };
}

/** The same database and user on another server. @throws an error when the URL has no place for a server. */
export function atServer(
  connection: DatabaseConnection,
  { host, port }: { host: string; port: number },
): DatabaseConnection {
  if (!("url" in connection)) return { ...connection, host, port };
  // The URL form for sockets, `postgres://user@/database?host=/path`, is not valid for Node's URL.
  const url = new URL(connection.url.replace(/^(\w+:\/\/(?:[^/?#]*@)?)(?=\/)/, "$1localhost"));
  url.hostname = host.includes(":") ? `[${host}]` : host;
  url.port = String(port);
  for (const name of ["host", "port"]) url.searchParams.delete(name);
  return { url: url.href };
}

export interface PoolOptions {
  connection: DatabaseConnection;
  /** Maximum number of connections. */
  size: number;
  /** A cell's schema, which precedes other schemas in the search path. */
  schema?: string | undefined;
  /** Whether hot functions are called through the driver's own queries. */
  isPlain?: boolean;
  /** Called when an idle connection fails; the pool replaces the connection by itself. */
  onError: (error: Error) => void;
  /** Returns why no connection can be made, if that is known better than from the driver's error. */
  explainAway?: () => Error | undefined;
}

/** Time limit for opening a new connection, and for waiting for a free connection of the pool. */
const connectTimeoutMs = 3_000;
/** Idle time after which TCP keep-alive probes a connection; ten seconds later the connection is closed if its host is gone. */
export const keepAliveAfterMs = 10_000;

/**
 * Session settings, independent of the defaults of the server, database and role. Limits are in milliseconds: one forgotten
 * transaction would prevent vacuum from removing dead rows, so that the queue's table could not shrink. No statement here
 * runs long enough to gain from JIT compilation, which takes up to a second. The pool ends idle sessions, because it knows
 * which ones are in use. Claims and idempotency keys need to see rows that other sessions committed meanwhile (read
 * committed), and the driver passes arrays with NULL as text.
 */
const sessionSettings = {
  statement_timeout: 30_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 15_000,
  idle_session_timeout: 0,
  jit: "off",
  default_transaction_isolation: "read committed",
  array_nulls: "on",
};

/**
 * Turns off the time limit that PostgreSQL 17 and newer have for whole transactions, and that would end backups, migrations and
 * index builds.
 */
export const noTransactionTimeout =
  "case when current_setting('transaction_timeout', true) is not null then set_config('transaction_timeout', '0', false) end";

/** An item that was answered with 202 is on disk, so `off` becomes `on`. All other values wait at least for the local disk. */
export const durableCommit =
  "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)";

/**
 * A client that limits the time of statements given as text or configuration, with one timer each. Calls of the hot path are
 * query objects that share one timer: see `callFunction`.
 */
class ImpatientClient extends pg.Client {
  /** Limit in milliseconds for the current user of the client; see `limitQueries`. */
  limitMs = queryTimeoutMs;

  // The driver's own signatures are overloads for texts, configurations, callbacks and query objects.
  override query = ((given: unknown, ...rest: unknown[]): unknown => {
    const config = typeof given === "string" ? { text: given } : (given as pg.QueryConfig);
    const limited = "submit" in config ? config : { query_timeout: this.limitMs, ...config };
    const result = (pg.Client.prototype.query as (...all: unknown[]) => unknown).call(this, limited, ...rest);
    // The caller of a promise may release the client as if the connection were usable, so it is destroyed here.
    if (result instanceof Promise) result.catch((error: unknown) => isUnanswered(error) && this.#hangUp());
    return result;
  }) as pg.Client["query"];

  #hangUp(): void {
    connectionOf(this).stream.destroy();
  }
}

class TappedClient extends ImpatientClient {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    tapRows(this);
  }
}

/**
 * The connection pool. In each session's search path, the schema of this version's functions comes first. Sessions give up on
 * statements after 30 s, on locks after 10 s and on idle transactions after 15 s.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...clientConfig(options.connection),
    Client: clientOf(options),
    max: options.size,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
    types,
    application_name: "postrider",
    // The pool awaits the returned promise, although its types do not say so.
    onConnect: (client): unknown => setUpSession(client, options.schema),
  });
  if (options.isPlain !== true) notePool(pool);
  pool.on("error", options.onError);
  pool.on("acquire", (client) => {
    (client as unknown as ImpatientClient).limitMs = queryTimeoutMs;
  });
  // A connection that breaks during a transaction also emits an error, in addition to the failure of the transaction's next
  // statement; without a listener this event would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/**
 * Puts this version's functions first in the search path, so that functions also find each other there; table names are
 * resolved as before. One statement sets the path and the settings; they are not in the startup message, because PgBouncer
 * refuses connections with such a message.
 */
async function setUpSession(client: pg.ClientBase, schema: string | undefined): Promise<void> {
  const own = Object.entries(sessionSettings).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  const text = `select
    set_config('search_path', concat_ws(', ', $1::text, $2::text, current_setting('search_path')), false),
    ${[durableCommit, noTransactionTimeout, ...own].join(", ")}`;
  await client.query(limited(connectTimeoutMs, text, [functionSchema, schema ?? null]));
}

function clientOf({ isPlain = false, explainAway }: PoolOptions): typeof ImpatientClient {
  const plainOrTapped = isPlain ? ImpatientClient : TappedClient;
  return explainAway === undefined ? plainOrTapped : explaining(plainOrTapped, explainAway);
}

/** A client that replaces the error of a failed connection by a better explanation, if there is one. */
function explaining(
  client: typeof ImpatientClient,
  explain: () => Error | undefined,
): typeof ImpatientClient {
  return class extends client {
    // The pool passes a callback.
    override connect = ((callback: (error: Error | null) => void): unknown => {
      const told = (error: Error | null): void => callback(error && (explain() ?? error));
      return (pg.Client.prototype.connect as (told: unknown) => unknown).call(this, told);
    }) as pg.Client["connect"];
  };
}

/**
 * Runs `work` in one transaction and returns its result; rolls back when it throws. `work` may run more than once: see {@link
 * repeatDeadlocked}.
 */
export function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return repeatDeadlocked(() => transactOnce(pool, work));
}

async function transactOnce<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    // A server that has not answered the last statement will not answer the rollback on this connection either.
    if (isUnanswered(error)) broken = error as Error;
    else {
      await client.query("rollback").catch((rollbackError: Error) => {
        broken = rollbackError;
      });
    }
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Maximum number of runs. */
const maxRuns = 4;

/**
 * Runs a transaction again when PostgreSQL ended it to resolve a deadlock (40P01): everything that it did was rolled back,
 * and the other transaction continues. This holds on one server and on several. Effects of a transaction outside the database
 * must be safe to repeat.
 * @throws the last error; a deadlock's error when it happened four times in a row.
 */
export async function repeatDeadlocked<T>(runTransaction: () => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    try {
      return await runTransaction();
    } catch (error) {
      if (run === maxRuns || (error as { code?: unknown } | undefined)?.code !== "40P01") throw error;
    }
  }
}

const tries = {
  transaction: "select pg_try_advisory_xact_lock($1) as taken",
  session: "select pg_try_advisory_lock($1) as taken",
};

/** Takes an advisory lock until the transaction or the session ends. @returns false when another session holds it. */
export async function tryLock(
  client: pg.ClientBase,
  key: number,
  until: keyof typeof tries,
): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(tries[until], [key]);
  return rows[0]!.taken;
}

/** Runs `work` in one transaction on the caller's session; rolls back when `work` throws. */
export async function transact(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    // When the connection is lost, the rollback fails with another error, which is ignored.
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** Whether a statement was sent and not answered in time; the server may still execute it. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === unanswered;
}

/**
 * Whether an insert failed because no partition exists for the row. A violated CHECK has the same code, but names its
 * constraint.
 */
export function isPartitionMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, constraint } = error as Error & { code?: string; constraint?: string };
  return code === "23514" && constraint === undefined;
}

/** Whether an error says that the database cannot be reached or is stopping, rather than that a statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as Error & { code?: string }).code ?? "";
  // Class 08: connection exceptions; 57P0x: shutting down or starting; 53: out of connections, memory or disk; 58: disk
  // errors; 25006: read-only, for example a standby; 57014 and 55P03: a timeout of ours under overload; 42883: the functions
  // of this process were dropped, and the process is about to end.
  return (
    /^(08|53|58|57P0|25006|57014|55P03|40001|40P01|42883)/.test(code) ||
    /^E(AGAIN|CONN|PIPE|NOENT|NOTFOUND|TIMEDOUT|HOST|NET|MFILE|NFILE)|^EAI_/.test(code) ||
    error.message === unanswered ||
    isConnectionLost(error) ||
    unusablePattern.test(error.message) ||
    lostNodePattern.test(error.message)
  );
}

/** Whether the driver says that a connection was lost on which a statement may have been sent. Its errors have no code. */
export function isConnectionLost({ message }: Error): boolean {
  return lostPattern.test(message);
}

/** The driver's messages; the second is that of a rollback after a commit whose answer never came. */
const lostPattern = /^(Connection terminated(?! due to)|Client has encountered a connection error)/;

/** The driver's and the pool's messages for a connection that could not be opened or used. */
const unusablePattern =
  /Connection terminated due to|timeout (exceeded when trying to connect|expired)|not queryable|closed the connection/i;

/** Citus' messages for a lost node, the coordinator included; their code is that of internal errors. */
const lostNodePattern =
  /^(failure on connection marked as essential|postmaster was shut down|failed to prepare transaction|execution cannot recover from multiple connection failures)/;
