import { expect } from "vitest";
import { buildIndexes } from "./buildIndexes.ts";
import { until } from "../../test/support/until.ts";
import { file, databaseTest } from "../../test/support/fixtures.ts";

const it = databaseTest({ poolSize: 3 }).extend(
  "definitions",
  file,
  ({ pool }) =>
    async (): Promise<string[]> => {
      const { rows } = await pool.query<{ definition: string }>(
        `select regexp_replace(pg_get_indexdef(i.indexrelid), 'INDEX \\S+', 'INDEX') as definition
     from pg_index i
     join pg_class c on c.oid = i.indrelid
     where c.relname ~ '^(events|attempts)'
       and i.indisvalid
     order by definition`,
      );
      return rows.map((row) => row.definition);
    },
);

it("an index that a migration created only on the parents is built on every partition, once", async ({
  definitions,
  pool,
}) => {
  const whole = await definitions();
  // The state of a database whose partitions were created before the migration.
  await pool.query("drop index events_type, attempts_delivered_target");
  await pool.query(
    `create index events_type on only events (org_id, event_type collate "C", id)
     where event_type is not null`,
  );
  await pool.query(
    "create index attempts_delivered_target on only attempts (target_id, event_id) where outcome = 1",
  );
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from pg_inherits where inhparent in ('events'::regclass, 'attempts'::regclass)",
  );
  const [first, second] = await Promise.all([buildIndexes(pool), buildIndexes(pool)]);
  expect(first + second).toBe(rows[0]!.count);
  expect(rows[0]!.count).toBeGreaterThan(10);
  expect((await definitions()).map(withoutOnly)).toEqual(whole.map(withoutOnly));
  expect(await buildIndexes(pool)).toBe(0);
});

function withoutOnly(definition: string): string {
  return definition.replace(" ONLY", "");
}

it("an index that a process left half built is built again", async ({ pool }) => {
  await pool.query("drop index events_type");
  await pool.query(
    `create index events_type on only events (org_id, event_type collate "C", id)
     where event_type is not null`,
  );
  const { rows } = await pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass limit 1",
  );
  await pool.query(`create index ${rows[0]!.name}_events_type on ${rows[0]!.name} (kind)`);
  expect(await buildIndexes(pool)).toBeGreaterThan(5);
  expect(await buildIndexes(pool)).toBe(0);
});

it("a stop cancels a build that waits for another transaction, and the next run builds the index", async ({
  pool,
  onTestFinished,
}) => {
  await pool.query("drop index events_type");
  await pool.query(
    `create index events_type on only events (org_id, event_type collate "C", id)
     where event_type is not null`,
  );
  const writer = await pool.connect();
  onTestFinished(() => writer.release(true));
  await writer.query("begin; lock table events in row exclusive mode");
  const stopping = new AbortController();
  const building = buildIndexes(pool, stopping.signal);
  await until(async () => {
    const { rows } = await pool.query(
      `select
       from pg_stat_progress_create_index
       where datname = current_database()
         and phase ~ '^waiting'`,
    );
    return rows.length > 0;
  });
  stopping.abort();
  expect(await building).toBe(0);
  await writer.query("rollback");
  // The first run's lock ends with its session, which the server ends shortly after the disconnect.
  expect(await until(() => buildIndexes(pool))).toBeGreaterThan(5);
});
