import type pg from "pg";
import { cellSchemas } from "../../../server/src/postgres/cells.ts";
import { everyAttempt } from "../../../server/test/support/everyAttempt.ts";
import { type Clients, cellNumberOf } from "../clients/clients.ts";
import { password } from "../world/postgres/installation.ts";
import type { World } from "../world/world.ts";
import type { Facts, Handoff, Leftovers, StoredAttempts, StoredItem, StoredLeftovers } from "./facts.ts";
import { leftOnNodes } from "./leftOnNodes.ts";
import { listedStatuses } from "./listedStatuses.ts";

/**
 * Reads the stored data of an organization, directly from the primary and through the interface of the first
 * service.
 */
export async function gatherFacts(
  world: World,
  { account: { api_key: apiKey, user }, secrets }: Pick<Clients, "account" | "secrets">,
): Promise<Facts> {
  const { primary } = world.database;
  const statuses = await listedStatuses(world.services[0].url, apiKey);
  const orgId = user.org_id;
  return primary.session(async (client) => {
    const left = await readLeftovers(client, world);
    await enterCell(client, cellOf(orgId, world.cells));
    const items = await storedItems(client, orgId, statuses);
    return {
      items,
      attempts: await storedAttempts(client, orgId),
      publications: await rowsOf(
        client,
        `select
           ${hex("id")} as id,
           array(select ${hex("e")} from unnest(event_ids) as e) as "itemIds"
         from publications
         where org_id = $1`,
        [orgId],
      ),
      chargedItems: await chargedItems(client, orgId),
      left,
      handoffs: await handoffsOf(world, client, items),
      loggedSecrets: loggedSecrets(world, secrets),
    };
  });
}

/**
 * Counts unfinished work of all organizations and cells. Leftovers on nodes are counted once no other work is
 * left.
 */
export async function readLeftovers(
  client: pg.Client,
  { cells, citus }: Pick<World, "cells" | "citus">,
): Promise<Leftovers> {
  const all: Leftovers = { waiting: 0, leased: 0, messages: 0, polls: 0, runningReplays: 0 };
  for (const schema of cells === 1 ? [undefined] : cellSchemas(cells)) {
    await enterCell(client, schema);
    const left = await leftovers(client);
    for (const [what, count] of Object.entries(left)) all[what as keyof StoredLeftovers] += count;
  }
  const isAtRest = Object.values(all).every((count) => count === 0);
  return citus === undefined || !isAtRest ? all : { ...all, ...(await leftOnNodes(citus)) };
}

/** The schema of an organization's cell; undefined when there is only one cell. */
function cellOf(orgId: string, cells: number): string | undefined {
  return cells === 1 ? undefined : cellSchemas(cells)[cellNumberOf(orgId, cells)];
}

/** Makes the tables of a cell visible in the session, through its search path. */
async function enterCell(client: pg.Client, schema: string | undefined): Promise<void> {
  if (schema !== undefined) await client.query(`set search_path = ${schema}, public`);
}

function loggedSecrets({ services }: World, secrets: Clients["secrets"]): string[] {
  const logs = services.map((service) => service.said()).join("\n");
  const all = Object.entries({ ...secrets, "the password of the database": password });
  return all.flatMap(([what, secret]) => (logs.includes(secret) ? [what] : []));
}

async function storedItems(
  client: pg.Client,
  orgId: string,
  statuses: ReadonlyMap<string, string>,
): Promise<StoredItem[]> {
  const items = await rowsOf<Omit<StoredItem, "status" | "number"> & { payload: string }>(
    client,
    `select
       ${hex("e.id")} as id,
       ${hex("e.target_id")} as "targetId",
       ${hex("e.source_event_id")} as "sourceId",
       ${hex("e.publication_id")} as "publicationId",
       e.billable as "isBillable",
       convert_from(coalesce(p.payload, e.payload), 'UTF8') as payload
     from events e
     left join publications p on p.id = e.publication_id
     where e.org_id = $1`,
    [orgId],
  );
  return items.map(({ payload, id, targetId, sourceId, publicationId, isBillable }) => ({
    id,
    targetId,
    sourceId,
    publicationId,
    isBillable,
    number: (JSON.parse(payload) as { number: number }).number,
    status: statuses.get(id) ?? null,
  }));
}

function storedAttempts(client: pg.Client, orgId: string): Promise<StoredAttempts[]> {
  return rowsOf(
    client,
    `select
       ${hex("event_id")} as "itemId",
       array_agg(number::integer order by number) as numbers,
       count(*) filter (where outcome = 1)::integer as delivered
     from ${everyAttempt}
     where org_id = $1
     group by event_id`,
    [orgId],
  );
}

async function chargedItems(client: pg.Client, orgId: string): Promise<number> {
  const [sum] = await rowsOf<{ items: number }>(
    client,
    `select (
       (select coalesce(sum(items), 0) from usage_records where org_id = $1)
       + (select coalesce(sum(items), 0) from usage_totals where org_id = $1)
     )::integer as items`,
    [orgId],
  );
  return sum!.items;
}

async function leftovers(client: pg.Client): Promise<StoredLeftovers> {
  const [left] = await rowsOf<StoredLeftovers>(
    client,
    `select
       (select coalesce(sum(cardinality(event_ids)), 0) from deliveries where lease_until is null)::integer as waiting,
       (select coalesce(sum(cardinality(event_ids)), 0) from deliveries where lease_until is not null)::integer as leased,
       (select count(*) from messages)::integer as messages,
       (select count(*) from handoff_polls)::integer as polls,
       (select count(*) from replays where status = 'RUNNING')::integer as "runningReplays"`,
  );
  return left!;
}

/** Waiting items for the record of a run: the number of attempts of each, its remaining delay, and its last error. */
export async function describeWaiting(client: pg.Client, cells: number): Promise<object[]> {
  const waiting: object[] = [];
  for (const schema of cells === 1 ? [undefined] : cellSchemas(cells)) {
    await enterCell(client, schema);
    waiting.push(
      ...(await rowsOf<object>(
        client,
        `select
           ${hex("d.event_ids[1]")} as first,
           cardinality(d.event_ids) as items,
           ${hex("d.target_id")} as "targetId",
           d.attempts,
           (d.due_at - extract(epoch from clock_timestamp()) * 1000)::bigint::float8 as "dueInMs",
           (select a.error from attempts a where a.event_id = d.event_ids[1] order by a.number desc limit 1) as error
         from deliveries d
         order by d.due_at
         limit 10`,
      )),
    );
  }
  return waiting;
}

/** Handoffs with the messages that the agent received; a message's id is the id of its item. */
async function handoffsOf(world: World, client: pg.Client, items: readonly StoredItem[]): Promise<Handoff[]> {
  const own = new Set(items.map(({ id }) => id));
  const messages = await world.agent.messages();
  const counts = Map.groupBy(messages, ({ body }) => body?.message?.messageId ?? "");
  const duplicates = await rowsOf<{ id: string }>(
    client,
    `select ${hex("event_id")} as id from handoffs where possible_duplicate`,
  );
  const possible = new Set(duplicates.map(({ id }) => id));
  return [...counts]
    .filter(([itemId]) => own.has(itemId))
    .map(([itemId, all]) => ({
      itemId,
      messages: all.length,
      isPossibleDuplicate: possible.has(itemId),
    }));
}

async function rowsOf<Row extends object>(
  client: pg.Client,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return (await client.query<Row>(text, values)).rows;
}

/** SQL expression for an id in the form that the interface uses. */
function hex(column: string): string {
  return `replace(${column}::text, '-', '')`;
}
