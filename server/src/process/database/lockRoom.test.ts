import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { clusterFolder } from "../../../test/support/clusterFolder.ts";
import { databaseTest } from "../../../test/support/fixtures.ts";
import { startService } from "../../../test/support/serviceProcess.ts";
import { runningConnection } from "../../postgres/embedded/runningConnection.ts";
import { dailyTables } from "../../postgres/partitions.ts";
import { createPool } from "../../postgres/pool.ts";
import { lockSettings, relationsPerDay } from "./lockRoom.ts";

const it = databaseTest();

it("relationsPerDay is the number of relations of one day's partitions", async ({ pool }) => {
  const { rows } = await pool.query<{ relations: number }>(
    `select sum(
       1
       + case when c.reltoastrelid = 0 then 0 else 2 end
       + (select count(*) from pg_index x where x.indrelid = c.oid)
     )::integer as relations
     from unnest($1::text[]) as t (name)
     join lateral (
       select i.inhrelid
       from pg_inherits i
       join pg_class p on p.oid = i.inhparent
       where p.relname = t.name
       limit 1
     ) i on true
     join pg_class c on c.oid = i.inhrelid`,
    [dailyTables],
  );
  expect(rows[0]!.relations).toBe(relationsPerDay);
});

it("the embedded PostgreSQL can lock the partitions of a year in one transaction", async () => {
  const dataDir = mkdtempSync(join(clusterFolder(), "postrider-locks-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const service = await startService({ storage: { dataDir }, env: { POSTRIDER_RETENTION_DAYS: "365" } });
  onTestFinished(async () => void (await service.stop()));
  const connection = (await runningConnection(dataDir))!;
  const pool = createPool({ connection, size: 1, onError: () => undefined });
  onTestFinished(() => pool.end());
  // Advisory locks are in the same lock table.
  const text = "select count(pg_advisory_xact_lock(n)) as taken from generate_series(1, $1::integer) n";
  const { rows } = await pool.query<{ taken: number }>(text, [365 * relationsPerDay]);
  expect(rows[0]!.taken).toBe(365 * relationsPerDay);
});

it("a backup with more days than the retention gets enough locks for its days", () => {
  const here = { retentionDays: 30, cells: "1" } as const;
  expect(lockSettings(here)).toEqual({ max_locks_per_transaction: "64" });
  const days = 375;
  expect(lockSettings(here, days * dailyTables.length)).toEqual(
    lockSettings({ ...here, retentionDays: days - 10 }),
  );
});
