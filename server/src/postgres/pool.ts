import pg from "pg";
import { functionSchema } from "./functionSchema.ts";
import { connectionOf } from "./hot/privateParts.ts";
import { limited, queryTimeoutMs, unanswered } from "./hot/queryLimit.ts";
import { notePool, tapRows } from "./hot/rowTap.ts";

/*
 * Ids leave the database as they are in the interface, 32 hex characters without dashes, and bigint columns as
 * numbers: all of them are moments, counts and tokens below 2^53.
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

/** Where a PostgreSQL is: a URL, or the parts of the embedded server's connection. */
export type DatabaseConnection = { url: string } | ServerConnection;

/** The socket's directory is `host` where there are Unix sockets. */
export interface ServerConnection {
  host: string;
  port: number;
  user: string;
  database: string;
  password?: string;
}

/**
 * The driver's configuration of a connection. The embedded server is this service's own: PGSSLMODE, PGOPTIONS and the other variables
 * that the driver takes for what it is not told are meant for other servers. A server of a URL may be described by them.
 */
export function clientConfig(connection: DatabaseConnection): pg.ClientConfig {
  if ("url" in connection) return { connectionString: connection.url };
  // The driver takes an empty text for none; PostgreSQL reads no option in a blank.
  return { ...connection, ssl: false, sslnegotiation: "postgres", options: " " };
}

/** The same database and user on another server. @throws an error when the URL has no place for a server. */
export function atServer(
  connection: DatabaseConnection,
  { host, port }: { host: string; port: number },
): DatabaseConnection {
  if (!("url" in connection)) return { ...connection, host, port };
  // The form for sockets, `postgres://user@/database?host=/path`, is no URL to Node.
  const url = new URL(connection.url.replace(/^(\w+:\/\/(?:[^/?#]*@)?)(?=\/)/, "$1localhost"));
  url.hostname = host.includes(":") ? `[${host}]` : host;
  url.port = String(port);
  for (const name of ["host", "port"]) url.searchParams.delete(name);
  return { url: url.href };
}

export interface PoolOptions {
  connection: DatabaseConnection;
  /** Most connections at once. */
  size: number;
  /** A cell's schema, whose tables are found before others of the same names. */
  schema?: string | undefined;
  /** Calls hot functions through the driver's own queries. */
  isPlain?: boolean;
  /** Told about an idle connection's failure; the pool replaces the connection by itself. */
  onError: (error: Error) => void;
  /** Why no connection can be made, if that is known better than from the driver's error. */
  explainAway?: () => Error | undefined;
}

/** For a new connection, and for one of the pool to be given back. */
const connectTimeoutMs = 3_000;
/** The silence after which a connection is probed; it is given up ten seconds later if its host is gone. */
export const keepAliveAfterMs = 10_000;

/**
 * Settings of a session, whatever the defaults of the server, database and role are. Limits are in milliseconds; they are there because
 * one forgotten transaction would pin dead rows and stop the queue from shrinking. No statement here is long enough to gain by
 * machine code: compiling one takes up to a second. Idle sessions are ended by the pool, which knows which ones are in use. Claims and
 * idempotency keys rely on seeing what others committed meanwhile, and the driver passes arrays with NULL as text.
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

/** An item that is answered with 202 is on the disk, so `off` is not taken over. All other values wait for the local disk at least. */
const durableCommit =
  "set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)";

/**
 * Limits the statements that are given as text or as a configuration, with a timer each. Calls of the hot path come as
 * queries of their own and share one timer: see `callFunction`.
 */
class ImpatientClient extends pg.Client {
  /** For the work that has checked it out; see `limitQueries`. */
  limitMs = queryTimeoutMs;

  // The driver's own signatures are overloads for text, configurations, callbacks and queries.
  override query = ((given: unknown, ...rest: unknown[]): unknown => {
    const config = typeof given === "string" ? { text: given } : (given as pg.QueryConfig);
    const limited = "submit" in config ? config : { query_timeout: this.limitMs, ...config };
    const result = (pg.Client.prototype.query as (...all: unknown[]) => unknown).call(this, limited, ...rest);
    // A caller with a promise may release the client as if it could be used again.
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
 * The connection pool, with the schema of this version's functions before the rest of each session's path. Sessions
 * give up on statements after 30 s, on locks after 10 s and on transactions left idle after 15 s.
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
    // The pool waits for the promise that it is given; its types do not say so.
    onConnect: (client): unknown => setUpSession(client, options.schema),
  });
  if (options.isPlain !== true) notePool(pool);
  pool.on("error", options.onError);
  pool.on("acquire", (client) => {
    (client as unknown as ImpatientClient).limitMs = queryTimeoutMs;
  });
  // A connection that breaks while a transaction has it also emits an error, beside failing the transaction's next
  // statement; without a listener that would end the process.
  pool.on("connect", (client) => client.on("error", () => undefined));
  return pool;
}

/**
 * Puts this version's functions first in the search path, also for calls within functions; names of tables mean what they did. One
 * statement for the path and the settings, and not in the startup message: PgBouncer refuses a connection whose startup message has them.
 */
async function setUpSession(client: pg.ClientBase, schema: string | undefined): Promise<void> {
  const own = Object.entries(sessionSettings).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  const text = `select
    set_config('search_path', concat_ws(', ', $1::text, $2::text, current_setting('search_path')), false),
    ${[durableCommit, ...own].join(", ")}`;
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
 * Runs `work` in one transaction and gives its result; rolls back when it throws. `work` may run more than once: see
 * {@link repeatDeadlocked}.
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
    // A server that has not answered the last statement answers no other on this connection.
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

/** How often work is begun in all. */
const maxRuns = 4;

/**
 * Runs a transaction again when PostgreSQL ended it to resolve a deadlock (40P01): all that it did is undone, and the other
 * one goes on. This holds on one server and on several. Whatever a transaction does outside the database must be safe to repeat.
 * @throws the last error, also a deadlock's when it happens four times in a row.
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

/** Takes an advisory lock until the transaction or the session ends. @returns false where another session has it. */
export async function tryLock(
  client: pg.ClientBase,
  key: number,
  until: keyof typeof tries,
): Promise<boolean> {
  const { rows } = await client.query<{ taken: boolean }>(tries[until], [key]);
  return rows[0]!.taken;
}

/** Runs `work` in one transaction of a session that the caller has; rolls back when it throws. */
export async function transact(client: pg.ClientBase, work: () => Promise<void>): Promise<void> {
  await client.query("begin");
  try {
    await work();
    await client.query("commit");
  } catch (error) {
    // On a server that is gone this fails with another error, which is ignored.
    await client.query("rollback").catch(() => undefined);
    throw error;
  }
}

/** Whether a statement was sent and not answered in time: it may be carried out all the same. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === unanswered;
}

/** Whether a row was refused because no partition takes it. A violated CHECK has the same code, and names its constraint. */
export function isPartitionMissing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, constraint } = error as Error & { code?: string; constraint?: string };
  return code === "23514" && constraint === undefined;
}

/** Whether an error says that the database cannot be reached or is stopping, rather than that a statement is wrong. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as Error & { code?: string }).code ?? "";
  // Class 08: connection exceptions; 57P0x: shutting down or starting; 53: out of connections, memory or disk; 58: the
  // disk fails;
  // 25006: a read-only standby took over; 57014 and 55P03: a timeout of ours under overload; 42883: the functions
  // of this process were dropped, and it is about to end.
  return (
    /^(08|53|58|57P0|25006|57014|55P03|40001|40P01|42883)/.test(code) ||
    /^E(CONN|PIPE|NOENT|NOTFOUND|TIMEDOUT|HOST|NET)|^EAI_/.test(code) ||
    /Connection terminated|timeout (exceeded when trying to connect|expired)|Query read timeout|Client has encountered|not queryable|closed the connection/i.test(
      error.message,
    ) ||
    lostNodePattern.test(error.message)
  );
}

/** Citus' words for a node that it lost, the coordinator included, where their code is that of internal errors. */
const lostNodePattern =
  /^(failure on connection marked as essential|postmaster was shut down|failed to prepare transaction|execution cannot recover from multiple connection failures)/;
