import type pg from "pg";
import { tablePlaces } from "../../../server/src/postgres/tablePlaces.ts";
import { type CitusCluster, nodeNames } from "../world/citus/citusCluster.ts";
import type { NodeLeftovers } from "./facts.ts";

/** What faults and moves may have left on the nodes, which Citus removes by itself after some seconds. */
export async function leftOnNodes(citus: CitusCluster): Promise<NodeLeftovers> {
  const all: NodeLeftovers = {
    preparedTransactions: 0,
    cleanups: 0,
    strayTables: 0,
    replication: 0,
    differingCopies: 0,
  };
  for (const name of nodeNames)
    await citus.nodes[name].primary.session(async (client) => {
      const [counts] = await rowsOf<Omit<NodeLeftovers, "differingCopies">>(client, countsOfNode);
      for (const [what, count] of Object.entries(counts!)) all[what as keyof NodeLeftovers] += count;
    });
  for (let looks = 0; looks === 0 || (all.differingCopies > 0 && looks < mostLooks); looks++)
    all.differingCopies = await differingCopies(citus);
  return all;
}

/** Nodes are looked at one after the other, and services note now and then when a key was last used. */
const mostLooks = 5;

async function differingCopies(citus: CitusCluster): Promise<number> {
  const copies: string[] = [];
  for (const name of nodeNames)
    copies.push(await citus.nodes[name].primary.session((client) => digestOfReferences(client)));
  return copies.filter((copy) => copy !== copies[0]).length;
}

/** A node knows the shards of all nodes, and itself by its group. A shard's table ends in the shard's number. */
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

/** What a node reads in its own copy of the reference tables, in short. */
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
