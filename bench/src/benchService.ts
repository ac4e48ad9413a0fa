import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { runningConnection } from "../../server/src/postgres/embedded/runningConnection.ts";
import { freePort } from "../../server/src/postgres/embedded/tcpAccess.ts";
import { segmentsThatFit } from "../../server/src/postgres/embedded/walAhead.ts";
import { endWithThis, stopProcess } from "./processes.ts";

/** A real service on its embedded database, with an organization. */
export interface BenchService {
  pid: number;
  port: number;
  key: string;
  /** Creates a target in the organization of `key`, by default the service's own; returns its id. */
  createTarget(body: object, key?: string): Promise<string>;
  /** Creates another organization; returns its key. */
  signUp(): Promise<string>;
  sql<T extends pg.QueryResultRow>(text: string): Promise<T[]>;
  /** The database, for callers that open their own connections. */
  connection: pg.PoolConfig;
  stop(): Promise<void>;
}

export interface BenchServiceOptions {
  dataDir: string;
  /** Some of `api`, `dispatcher`, `maintenance`, separated by commas; all roles when absent. */
  roles?: string;
  /** An API key from an earlier start on the same data directory. */
  key?: string;
  logLevel?: string;
  /** Further settings, by the names of their variables. */
  settings?: Readonly<Record<string, string>>;
  /** The `cli.ts` of another version. */
  cli?: string;
}

const ownCli = fileURLToPath(new URL("../../server/src/process/cli.ts", import.meta.url));

/** Starts `postrider serve` with default settings, except that it may deliver to this machine and allows 1,000 signups. */
export async function startService(options: BenchServiceOptions): Promise<BenchService> {
  const port = await freePort();
  const child = spawn(
    process.execPath,
    [options.cli ?? ownCli, "serve", ...(options.roles ? ["--roles", options.roles] : [])],
    {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        ...process.env,
        PORT: String(port),
        POSTRIDER_DATA_DIR: options.dataDir,
        POSTRIDER_ALLOW_HTTP_TARGETS: "true",
        POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
        POSTRIDER_SIGNUP_LIMIT: "1000",
        LOG_LEVEL: options.logLevel ?? "info",
        ...options.settings,
      },
    },
  );
  endWithThis(child);
  const said: string[] = [];
  child.stderr.on("data", (chunk: Buffer) => said.push(String(chunk)));
  await untilReady(port, () => child.exitCode !== null, said);
  const connection = await runningConnection(options.dataDir);
  if (connection === undefined) throw new Error("the service has no embedded database");
  const pool = new pg.Pool({ ...connection, max: 1 });
  pool.on("error", () => undefined);
  await untilWalIsAhead(pool, options.dataDir);
  const base = `http://127.0.0.1:${port}`;
  const key = options.key ?? (await signUp(base));
  return {
    pid: child.pid!,
    port,
    key,
    connection,
    async createTarget(body, ownerKey = key) {
      const target = await call(`${base}/api/v1/targets`, ownerKey, body);
      return target["id"] as string;
    },
    signUp: () => signUp(base),
    sql: async <T extends pg.QueryResultRow>(text: string) => (await pool.query<T>(text)).rows,
    async stop() {
      await pool.end();
      await stopProcess(child);
    },
  };
}

/** Creates webhooks with the same name and URL, 16 at a time; returns their ids. */
export async function createWebhooks(
  service: BenchService,
  count: number,
  fields: { name: string; url: string },
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const create = async (): Promise<void> => {
    while (next++ < count) ids.push(await service.createTarget({ kind: "webhook", ...fields }));
  };
  await Promise.all(Array.from({ length: 16 }, create));
  return ids;
}

async function untilReady(port: number, hasEnded: () => boolean, said: string[]): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if (hasEnded()) break;
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`the service did not start: ${said.join("")}`);
}

/** Waits until the service has created WAL segments ahead, which it does a second after its first start. */
async function untilWalIsAhead(pool: pg.Pool, dataDir: string): Promise<void> {
  const wanted = (await segmentsThatFit(dataDir)) / 2;
  for (let tries = 0; tries < 300; tries++) {
    const { rows } = await pool.query<{ ahead: number }>(
      "select count(*)::integer as ahead from pg_ls_waldir() where name > pg_walfile_name(pg_current_wal_insert_lsn())",
    );
    if (rows[0]!.ahead >= wanted) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the service made no WAL segments ahead");
}

async function signUp(base: string): Promise<string> {
  const email = `bench-${Date.now()}@example.com`;
  const answer = await call(`${base}/api/v1/auth/signup`, undefined, {
    email,
    password: "correct horse battery",
  });
  return answer["api_key"] as string;
}

async function call(url: string, key: string | undefined, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** WAL bytes and transactions of the database so far; subtract two readings. */
export async function databaseCost(service: BenchService): Promise<{ walBytes: number; statements: number }> {
  // PostgreSQL reports statistics of other sessions with a delay of up to a second.
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const [row] = await service.sql<{ wal: string; statements: string }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
       (select xact_commit + xact_rollback from pg_stat_database where datname = current_database()) as statements`,
  );
  return { walBytes: Number(row!.wal), statements: Number(row!.statements) };
}
