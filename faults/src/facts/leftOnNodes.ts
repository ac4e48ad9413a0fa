import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { tablePlaces } from "../../../server/src/postgres/tablePlaces.ts";
import { type CitusCluster, nodeNames } from "../world/citus/citusCluster.ts";
import type { NodeLeftovers } from "./facts.ts";

/**
 * Counts the leftovers of faults and moves on the nodes. Nodes are read one after another, services update the
 * last use of keys, and Citus cleans up after some seconds: a leftover that is seen once may be work in progress,
 * so only leftovers that stay count.
 */
export async function leftOnNodes(citus: CitusCluster): Promise<NodeLeftovers> {
  for (let looks = 1; ; looks++) {
    const left = await lookAtNodes(citus);
    if (looks === mostLooks || Object.values(left).every((count) => count === 0)) return left;
    await delay(betweenLooksMs);
  }
}

const mostLooks = 20;
const betweenLooksMs = 1_000;

async function lookAtNodes(citus: CitusCluster): Promise<NodeLeftovers> {
  const all: NodeLeftovers = {
    preparedTransactions: 0,
    cleanups: 0,
    strayTables: 0,
    replication: 0,
    differingCopies: 0,
  };
  const copies: string[] = [];
  for (const name of nodeNames)
    await citus.nodes[name].primary.session(async (client) => {
      const [counts] = await rowsOf<Omit<NodeLeftovers, "differingCopies">>(client, countsOfNode);
      for (const [what, count] of Object.entries(counts!)) all[what as keyof NodeLeftovers] += count;
      copies.push(await digestOfReferences(client));
    });
  all.differingCopies = copies.filter((copy) => copy !== copies[0]).length;
  return all;
}

/**
 * A node's metadata lists the shards of all nodes; the node finds its own by its group id. A shard's table name
 * ends in the shard's id.
 */
const countsOfNode = `
  select
    (select count(*) from pg_prepared_xacts where database = current_database())::integer as "preparedTransactions",
    (select count(*) from pg_dist_cleanup)::integer as cleanups,
    (select count(*)
     from pg_class c
     join pg_dist_placement p on p.shardid::text = substring(c.relname from '_([0-9]{6,})$')
     where c.relkind in ('r', 'p')
       and c.relnamespace::regnamespace::text ~ '^postrider_cell_'
       and p.groupid <> (select groupid from pg_dist_local_group))::integer as "strayTables",
    (select count(*) from pg_replication_slots where slot_name ~ '^citus_')::integer
      + (select count(*) from pg_subscription)::integer
      + (select count(*) from pg_publication)::integer as replication`;

/** Digest of a node's own copy of the reference tables. */
async function digestOfReferences(client: pg.Client): Promise<string> {
  const tables = [...tablePlaces].filter(([, place]) => place === "reference").map(([table]) => table);
  const digests = [];
  for (const table of tables) {
    const [row] = await rowsOf<{ digest: string }>(
      client,
      `select concat_ws('/', count(*), sum(hashtextextended(t::text, 0))) as digest from public.${table} t`,
    );
    digests.push(row!.digest);
  }
  return digests.join(" ");
}

async function rowsOf<Row extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<Row[]> {
  return (await client.query<Row>(text)).rows;
}
