import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { moveCell } from "../../../../server/src/postgres/placement/moveCell.ts";
import { placedCells } from "../../../../server/src/postgres/placement/workers.ts";
import { migrate } from "../../../../server/src/postgres/migrate.ts";
import { distributeCells } from "../../../../server/test/support/citus.ts";
import { createInTurn, type InTurn } from "../inTurn.ts";
import { copyStopped } from "../postgres/cluster.ts";
import { type Database, type Node, singleNode } from "../postgres/database.ts";
import { type Installation, password, superuser, urlAt } from "../postgres/installation.ts";
import { PostgresPair } from "../postgres/pair.ts";
import { PostgresServer } from "../postgres/server.ts";
import type { Wire } from "../wire/wire.ts";

export interface CitusInput {
  installation: Installation;
  /** A stopped cluster with an empty database. */
  template: string;
  /** Two folders: one server of the replicated worker is in each, all other servers are in the first. */
  folders: readonly [string, string];
  logFolder: string;
  cells: number;
  newWire: () => Promise<Wire>;
  /** Connection from the first worker's standby to the worker. */
  replication: Wire;
  /** Connections from the services to the coordinator. */
  services: readonly Wire[];
}

const settings: Readonly<Record<string, string>> = {
  shared_preload_libraries: "citus",
  wal_level: "logical",
  max_connections: "150",
  max_prepared_transactions: "150",
  max_locks_per_transaction: "512",
  max_wal_senders: "20",
  max_replication_slots: "20",
  max_worker_processes: "32",
  "citus.local_hostname": "127.0.0.1",
  // Without this setting Citus creates certificates, which existing standbys lack.
  ssl: "off",
  "citus.node_conninfo": "sslmode=disable",
  // Both intervals are short so that a run sees the clean-up; the defaults are a minute.
  "citus.recover_2pc_interval": "2s",
  "citus.defer_shard_delete_interval": "2s",
};

/** Names of the nodes, the coordinator first. */
export const nodeNames = ["coordinator", "worker-1", "worker-2"] as const;
export type NodeName = (typeof nodeNames)[number];

const takeoverLimitMs = 600_000;

/**
 * A coordinator and two workers with the service's cells. Nodes reach each other, and services reach the workers,
 * through wires. The first worker has a synchronous standby at an address of its own: after a failover Citus is
 * told that address.
 */
export class CitusCluster implements Database {
  readonly nodes: Readonly<Record<NodeName, Node>>;
  /** Serializes moves. */
  readonly moving: InTurn = createInTurn();
  readonly #first: PostgresPair;
  readonly #addresses: Addresses;

  private constructor(nodes: Record<NodeName, Node>, first: PostgresPair, addresses: Addresses) {
    this.nodes = nodes;
    this.#first = first;
    this.#addresses = addresses;
  }

  static async start(input: CitusInput): Promise<CitusCluster> {
    const { newWire } = input;
    const addresses: Addresses = {
      coordinator: await newWire(),
      "worker-1": [await newWire(), await newWire()],
      "worker-2": await newWire(),
      leading: 0,
    };
    const coordinator = await startSingle(input, "coordinator", [addresses.coordinator, ...input.services]);
    const second = await startSingle(input, "worker-2", [addresses["worker-2"]]);
    const first = await PostgresPair.start({
      ...input,
      name: "worker-1",
      settings,
      wiresTo: (folder) => [addresses["worker-1"][folder]],
      async onPromoted(folder) {
        await cluster.#moveNode(
          addresses["worker-1"][addresses.leading].port,
          addresses["worker-1"][folder].port,
        );
        addresses.leading = folder;
      },
    });
    const nodes = { coordinator, "worker-1": first, "worker-2": second };
    const cluster: CitusCluster = new CitusCluster(nodes, first, addresses);
    try {
      await cluster.#join();
      await cluster.#makeCells(input.cells);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The server from which the stored data is read. */
  get primary(): PostgresServer {
    return this.nodes.coordinator.primary;
  }

  /** The wire through which other nodes reach this node. */
  wireTo(name: NodeName): Wire {
    const its = this.#addresses[name];
    return Array.isArray(its) ? its[this.#addresses.leading] : its;
  }

  /** Destroys the first worker and promotes its standby. */
  promote(): Promise<void> {
    return this.#first.promote();
  }

  /** Moves a cell to the other worker, as `postrider` does. @throws Citus' error when the move fails. */
  async moveCell(schema: string): Promise<void> {
    await this.moving(() =>
      this.primary.session((client) =>
        this.primary.session(async (watcher) => {
          const from = (await placedCells(client)).find((cell) => cell.schema === schema)!;
          const { port } = this.wireTo(from.port === this.wireTo("worker-1").port ? "worker-2" : "worker-1");
          const steps = { doing: () => undefined, done: () => undefined };
          await moveCell({ client, watcher, steps }, { schema, from, to: { host: "127.0.0.1", port } });
        }),
      ),
    );
  }

  /** Resolves once all nodes serve, the standby follows its worker, and the workers know where the nodes are. */
  async isWhole(): Promise<void> {
    for (const name of nodeNames) await this.nodes[name].isWhole();
    await this.moving(() => Promise.resolve());
    const deadlineMs = performance.now() + takeoverLimitMs;
    for (;;) {
      const [row] = await this.primary.query<{ isSynced: boolean }>(
        'select bool_and(metadatasynced) as "isSynced" from pg_dist_node',
      );
      if (row!.isSynced) return;
      if (performance.now() > deadlineMs) throw new Error("the workers do not learn where the nodes are");
      await delay(100);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.nodes).map((node) => node.stop()));
  }

  async #join(): Promise<void> {
    for (const name of nodeNames) {
      await this.nodes[name].primary.query("create extension citus");
      // Every node authenticates at every other with this password.
      await this.nodes[name].primary.query(
        `insert into pg_dist_authinfo values (0, '${superuser}', 'password=${password}'), (-1, '${superuser}', 'password=${password}')`,
      );
    }
    await this.primary.query(
      `select citus_set_coordinator_host('127.0.0.1', ${this.wireTo("coordinator").port})`,
    );
    for (const name of ["worker-1", "worker-2"] as const)
      await this.primary.query(`select citus_add_node('127.0.0.1', ${this.wireTo(name).port})`);
  }

  async #makeCells(cells: number): Promise<void> {
    // This pool has no statement timeout, because a busy machine can exceed the service's.
    const pool = new pg.Pool({ connectionString: urlAt(this.primary.port), max: 1 });
    try {
      await migrate(pool, { cells });
      await distributeCells(pool);
    } finally {
      await pool.end();
    }
  }

  /** Updates a worker's address in Citus; the coordinator may be unavailable for a while. */
  async #moveNode(fromPort: number, toPort: number): Promise<void> {
    const deadlineMs = performance.now() + takeoverLimitMs;
    for (;;) {
      try {
        await this.primary.query(
          `select citus_update_node(nodeid, '127.0.0.1', ${toPort}, force => true, lock_cooldown => 1000)
           from pg_dist_node
           where nodeport = ${fromPort}`,
        );
        return;
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        await delay(200);
      }
    }
  }
}

interface Addresses {
  coordinator: Wire;
  /** Wires to the worker's two servers. */
  "worker-1": [Wire, Wire];
  "worker-2": Wire;
  /** Which of the two servers is the worker now. */
  leading: 0 | 1;
}

async function startSingle(
  { installation, template, folders, logFolder }: CitusInput,
  name: NodeName,
  wires: readonly Wire[],
): Promise<Node> {
  const directory = join(folders[0], name);
  await copyStopped(template, directory, installation.account);
  const server = new PostgresServer({
    installation,
    directory,
    logFile: join(logFolder, `${name}.log`),
    settings,
  });
  await server.start();
  for (const wire of wires) wire.to = server.port;
  return singleNode(server);
}
