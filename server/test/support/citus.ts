import pg from "pg";
import { distribute } from "../../src/postgres/placement/distribute.ts";
import { until } from "./until.ts";

/** URL of the coordinator of a Citus cluster, whose workers its database knows; undefined when the run has none. */
export const citusUrl = process.env["TEST_CITUS_URL"] || undefined;

interface Server {
  host: string;
  port: number;
}

/** Places the cells of a new database on the workers, in a separate session and without progress reports. */
export async function distributeCells(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("reset search_path; set statement_timeout = 0; set lock_timeout = 0");
    await distribute(client, { doing: () => undefined, done: () => undefined });
  } finally {
    client.release(true);
  }
}

/** Creates a database on every node, from a template that exists on each of them. */
export async function createOnNodes(name: string, template: string): Promise<void> {
  await onNodesUnlessUsed(template, (client) =>
    client.query(`create database ${name} template ${template} strategy file_copy`),
  );
}

export async function dropOnNodes(name: string): Promise<void> {
  await onNodesUnlessUsed(name, (client) => client.query(`drop database if exists ${name} with (force)`));
}

const objectInUse = "55006";

/**
 * Repeats a statement while sessions use the database, and ends those sessions: Citus' own service reconnects each
 * time.
 */
async function onNodesUnlessUsed(
  database: string,
  run: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const isDone = async (client: pg.Client): Promise<boolean> => {
    try {
      await run(client);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== objectInUse) throw error;
      await endSessions(client, database);
      return false;
    }
  };
  for (const server of await nodes())
    await onServer(server, "postgres", (client) => until(() => isDone(client), Boolean));
}

function endSessions(client: pg.Client, database: string): Promise<unknown> {
  return client.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [
    database,
  ]);
}

/** Installs the extension in the nodes' databases of this name, and joins them to a separate cluster. */
export async function joinNodes(name: string): Promise<void> {
  const [coordinator, ...workers] = await nodes();
  for (const server of [coordinator!, ...workers])
    await onServer(server, name, (client) => client.query("create extension citus"));
  await onServer(coordinator!, name, async (client) => {
    await client.query("select citus_set_coordinator_host($1, $2)", [coordinator!.host, coordinator!.port]);
    for (const { host, port } of workers) await client.query("select citus_add_node($1, $2)", [host, port]);
  });
}

/**
 * Ends the connections to a database and refuses new ones, so that it can be a template: Citus itself keeps a
 * connection.
 */
export async function closeOnNodes(name: string): Promise<void> {
  for (const server of await nodes())
    await onServer(server, "postgres", async (client) => {
      await client.query(`alter database ${name} allow_connections false`);
      await endSessions(client, name);
    });
}

/** Moves a schema to another server while nothing writes to it. @param url of the database on the coordinator. */
export function moveSchema(url: string, schema: string, { host, port }: Server): Promise<unknown> {
  return withClient(new pg.Client({ connectionString: url }), (client) =>
    client.query("select citus_schema_move($1::regnamespace, $2, $3, 'block_writes')", [schema, host, port]),
  );
}

let known: Promise<Server[]> | undefined;

/** The nodes, the coordinator first. */
function nodes(): Promise<Server[]> {
  return (known ??= withClient(new pg.Client({ connectionString: citusUrl! }), async (client) => {
    const { rows } = await client.query<Server>(
      "select nodename as host, nodeport as port from pg_dist_node order by groupid",
    );
    return rows;
  }));
}

function onServer(
  { host, port }: Server,
  database: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<unknown> {
  const url = new URL(citusUrl!);
  url.hostname = host;
  url.port = String(port);
  url.pathname = `/${database}`;
  return withClient(new pg.Client({ connectionString: url.href }), work);
}

async function withClient<T>(client: pg.Client, work: (client: pg.Client) => Promise<T>): Promise<T> {
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
