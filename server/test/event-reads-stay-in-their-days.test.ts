import { sql } from "kysely";
import { expect } from "vitest";
import { readPayload } from "../src/events/readEvent.ts";
import { latestReplays } from "../src/events/replaysOf.ts";
import { readProgress } from "../src/events/progress.ts";
import { readAttempts, readEvents } from "../src/events/store.ts";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { dayMs, dayOf, ensurePartitions, tablesById } from "../src/postgres/partitions.ts";
import { createQueries, type Queries } from "../src/postgres/tables.ts";
import { databaseTest, file } from "./support/fixtures.ts";

/*
 * Reading an event plans and locks the partitions of its own days, however many days are stored. With a year of days, a statement
 * that names no range of ids takes a tenth of a second to plan, and half a second on a new connection.
 */

const daysStored = 30;

const it = databaseTest({ poolSize: 1 })
  /** An event of today with a payload of a publication, stored after many days. */
  .extend("event", file, async ({ pool }) => {
    const nowMs = Date.now();
    for (let day = daysStored; day >= 0; day -= 7) await ensurePartitions(pool, nowMs - day * dayMs);
    const [orgId, targetId] = [newId(0, nowMs), newId(3, nowMs)];
    const publicationId = newId(bucketOf(orgId), nowMs);
    const id = newId(bucketOf(targetId), nowMs);
    await pool.query(
      `insert into publications (bucket, id, org_id, payload, event_ids) values ($1, $2, $3, '{"n":1}', array[$4::uuid])`,
      [bucketOf(orgId), publicationId, orgId, id],
    );
    await pool.query(
      `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, payload, publication_id)
       values ($1, 1, 8, true, $2, $3, $4, '', $5)`,
      [bucketOf(targetId), targetId, id, orgId, publicationId],
    );
    return { id, scope: { orgId, mailboxRetentionMs: dayMs }, today: Math.floor(nowMs / dayMs) };
  })
  .extend("queries", file, ({ pool }) => createQueries(pool));

it("locks no partition of an earlier day, and finds what there is", async ({ event, queries }) => {
  const { id, scope, today } = event;
  await queries.transaction().execute(async (snapshot) => {
    const [found] = await readEvents(snapshot, scope, [id]);
    expect((await readProgress(snapshot, [found!])).get(id)).toMatchObject({ attempts: 0 });
    expect(await readAttempts(snapshot, found!)).toEqual([]);
    expect(await readPayload(snapshot, scope, id)).toEqual({
      outcome: "read",
      payload: Buffer.from('{"n":1}'),
    });
    expect(await lockedDays(snapshot)).toEqual([today]);
    expect([...(await latestReplays(snapshot, scope, [id]))]).toEqual([]);
    // Replays come later; a day earlier, because clocks may differ.
    expect(Math.min(...(await lockedDays(snapshot)))).toBe(today - 1);
  });
});

/** The days of the partitions that the transaction has locked, in order, in days since 1970. */
async function lockedDays(snapshot: Queries): Promise<number[]> {
  const { rows } = await sql<{ relname: string }>`
    select c.relname
    from pg_locks l
    join pg_class c on c.oid = l.relation
    join pg_inherits i on i.inhrelid = c.oid
    where l.pid = pg_backend_pid()
      and i.inhparent = any (${tablesById}::regclass[])
  `.execute(snapshot);
  return [...new Set(rows.map(({ relname }) => dayOf(relname)))].toSorted((a, b) => a - b);
}
