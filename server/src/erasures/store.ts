import type pg from "pg";
import { type Static, Type } from "typebox";
import { Id, nullable, nullableInteger, nullableString, oneOf, Timestamp } from "../http/contract/schemas.ts";
import { emailOf } from "../audit/origin.ts";
import type { Caller } from "../http/contract/credentials.ts";
import { inTransaction } from "../postgres/pool.ts";
import { lockOrganization } from "../accounts/organizationStore.ts";
import { newestFirst, type NewestFirst } from "../postgres/newestFirst.ts";

export const Erasure = Type.Object(
  {
    id: Id,
    event_id: nullable(Id, "The event to erase, with its replays; null if `correlation_id` is set"),
    correlation_id: nullableString(
      "All events with this correlation id that were accepted before the request; null if `event_id` is set",
    ),
    status: oneOf(["RUNNING", "DONE"]),
    total: nullableInteger(
      "Number of events to erase; null until they are counted: at the beginning, or while more than 10,000 are erased",
    ),
    erased: Type.Integer({ description: "Number of events erased so far" }),
    created_by: Type.String({
      description: "The email of the user, or the name and the prefix of the API key",
    }),
    created_at: Timestamp,
    finished_at: nullable(Timestamp),
  },
  { title: "Erasure" },
);

/** A request to erase one event with its copies, or all events of a correlation id; times are in Unix milliseconds. */
export type StoredErasure = Static<typeof Erasure> & { org_id: string; walked_to: string | null };

const columns =
  "id, org_id, event_id, correlation_id, status, created_by, created_at, finished_at, total, erased, walked_to";

/** The subject of an erasure: one event, or all events of a correlation id. */
export type Subject = { eventId: string } | { correlationId: string };

/** Maximum number of unfinished erasures of an organization. */
export const maxRunning = 100;

/**
 * Stores an erasure; from then on some process carries it out, even if this one ends. The lock on the organization's row
 * serializes calls, to enforce the limit. @returns undefined when {@link maxRunning} erasures are unfinished.
 */
export function insertErasure(pool: pg.Pool, input: NewErasure): Promise<StoredErasure | undefined> {
  const { orgId } = input.caller;
  return inTransaction(pool, async (client) => {
    await lockOrganization(client, orgId);
    return (await countRunning(client, orgId, maxRunning)) < maxRunning ? insert(client, input) : undefined;
  });
}

interface NewErasure {
  id: string;
  caller: Caller;
  subject: Subject;
}

async function insert(client: pg.ClientBase, { id, caller, subject }: NewErasure): Promise<StoredErasure> {
  const email = caller.kind === "session" ? await emailOf(client, caller.userId) : null;
  const { rows } = await client.query<StoredErasure>({
    name: "insert_erasure",
    text: `insert into erasures (id, org_id, event_id, correlation_id, created_by, created_at)
           select $1, $2, $3, $4, coalesce(
               $5,
               (select 'API key ' || k.name || ' (' || k.prefix || ')' from api_keys k where k.id = $6),
               'a key that was deleted meanwhile'
             ), (extract(epoch from clock_timestamp()) * 1000)::bigint
           returning ${columns}`,
    values: [
      id,
      caller.orgId,
      "eventId" in subject ? subject.eventId : null,
      "correlationId" in subject ? subject.correlationId : null,
      email,
      caller.kind === "apiKey" ? caller.keyId : null,
    ],
  });
  return rows[0]!;
}

/** Reads the organization's erasure with this id. */
export async function readErasure(
  pool: pg.Pool,
  orgId: string,
  id: string,
): Promise<StoredErasure | undefined> {
  const { rows } = await pool.query<StoredErasure>({
    name: "read_erasure",
    text: `select ${columns}
           from erasures
           where org_id = $1
             and id = $2`,
    values: [orgId, id],
  });
  return rows[0];
}

/** The organization's erasures, newest first. */
export function listErasures(pool: pg.Pool, orgId: string, page: NewestFirst): Promise<StoredErasure[]> {
  const select = `select ${columns} from erasures`;
  return newestFirst(pool, { name: "list_erasures", select }, orgId, page);
}

/**
 * An unfinished erasure of the next organization after `afterOrgId`, round robin; undefined when there is none except `skipped`.
 * Any of the organization's erasures may be returned.
 */
export async function nextErasure(
  pool: pg.Pool,
  afterOrgId: string,
  skipped: readonly string[],
): Promise<StoredErasure | undefined> {
  const { rows } = await pool.query<StoredErasure>({
    name: "next_erasure",
    text: `select ${columns}
           from erasures
           where status = 'RUNNING'
             and id <> all ($2::uuid[])
           order by org_id <= $1, org_id, random()
           limit 1`,
    values: [afterOrgId, skipped],
  });
  return rows[0];
}

/** Counts the unfinished erasures of an organization, up to a limit. */
async function countRunning(client: pg.ClientBase, orgId: string, limit: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>({
    name: "count_running_erasures",
    text: `select count(*) as count
           from (
             select
             from erasures
             where org_id = $1
               and status = 'RUNNING'
             limit $2
           ) running`,
    values: [orgId, limit],
  });
  return rows[0]!.count;
}

/** Finds the erasure of an event; null if it has none, undefined if the organization has no such event. */
export async function findErasure(
  pool: pg.Pool,
  orgId: string,
  eventId: string,
): Promise<{ erasureId: string | null } | undefined> {
  const { rows } = await pool.query<{ erasureId: string | null }>({
    name: "find_erasure",
    text: `select coalesce(
             e.erasure_id,
             (
               select x.id
               from erasures x
               where x.org_id = $1
                 and x.event_id = $2
                 and x.status = 'RUNNING'
               order by x.id
               limit 1
             )
           ) as "erasureId"
           from events e
           where e.org_id = $1
             and e.id = $2`,
    values: [orgId, eventId],
  });
  return rows[0];
}

/** Marks an erasure as done. */
export async function finishErasure(pool: pg.Pool, id: string): Promise<void> {
  await pool.query({
    name: "finish_erasure",
    text: `update erasures
           set status = 'DONE',
             total = coalesce(total, erased),
             finished_at = (extract(epoch from statement_timestamp()) * 1000)::bigint
           where id = $1
             and status = 'RUNNING'`,
    values: [id],
  });
}
