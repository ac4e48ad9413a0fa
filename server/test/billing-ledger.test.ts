import { describe, expect } from "vitest";
import { foldUsage } from "../src/billing/foldUsage.ts";
import { readLedgerMonth } from "../src/billing/ledger.ts";
import { newRootId } from "../src/postgres/ids.ts";
import { createPool } from "../src/postgres/pool.ts";
import { file, databaseTest } from "./support/fixtures.ts";
import { largestDeletion } from "./support/largestDeletion.ts";

const it = databaseTest({ poolSize: 8 })
  .extend("createOrganization", file, ({ pool }) => async (): Promise<string> => {
    const id = newRootId(Date.now());
    await pool.query(
      "insert into organizations (id, name, slug, billing_status, created_at) values ($1::uuid, 'Ledger', $1::uuid::text, 'active', 0)",
      [id],
    );
    return id;
  })
  .extend(
    "record",
    file,
    ({ pool }) =>
      (orgId: string, items: number, period = 202611): Promise<unknown> =>
        pool.query("insert into usage_records (bucket, period, items, org_id) values ($1, $2, $3, $4)", [
          items % 256,
          period,
          items,
          orgId,
        ]),
  )
  /**
   * Number of table blocks read from memory or disk since the statistics began; flushes this session's statistics
   * first.
   */
  .extend("readBlocks", file, ({ pool }) => async (): Promise<number> => {
    const client = await pool.connect();
    try {
      await client.query("select pg_stat_force_next_flush()");
      const { rows } = await client.query<{ blocks: number }>(
        `select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit as blocks
       from pg_statio_user_tables
       where relname = 'usage_totals'`,
      );
      return rows[0]!.blocks;
    } finally {
      client.release();
    }
  });

describe("folding", () => {
  it("keeps the months and organizations separate, and has no effect when repeated", async ({
    createOrganization,
    record,
    pool,
  }) => {
    const [one, other] = [await createOrganization(), await createOrganization()];
    for (const items of [1, 2, 3]) await record(one, items);
    await record(one, 10, 202610);
    await record(other, 100);
    expect(await foldUsage(pool)).toBe(5);
    expect(await foldUsage(pool)).toBe(0);
    await record(one, 4);
    await foldUsage(pool);
    expect((await readLedgerMonth(pool, one, 202611))?.accepted).toBe(10);
    expect((await readLedgerMonth(pool, one, 202610))?.accepted).toBe(10);
    expect((await readLedgerMonth(pool, other, 202611))?.accepted).toBe(100);
  });

  it("is atomic for readers and for concurrent folds", async ({ createOrganization, record, pool }) => {
    const orgId = await createOrganization();
    const total = 900;
    const progress = { written: 0 };
    const writer = (async () => {
      for (; progress.written < total; progress.written += 3) await record(orgId, 3);
    })();
    const folders = Array.from({ length: 3 }, async () => {
      while (progress.written < total) await foldUsage(pool);
    });
    const seen: number[] = [0];
    while (progress.written < total) {
      const atLeast = progress.written;
      const { accepted } = (await readLedgerMonth(pool, orgId, 202611))!;
      expect(accepted).toBeGreaterThanOrEqual(atLeast);
      expect(accepted).toBeGreaterThanOrEqual(seen.at(-1)!);
      seen.push(accepted);
    }
    await Promise.all([writer, ...folders]);
    await foldUsage(pool);
    expect((await readLedgerMonth(pool, orgId, 202611))?.accepted).toBe(total);
  });

  it("that is interrupted loses nothing", async ({ createOrganization, database, record, pool }) => {
    const orgId = await createOrganization();
    // A terminated connection may return to its pool first, so the fold uses another pool than the test.
    const cutOff = createPool({ connection: database.connection, size: 2, onError: () => undefined });
    for (let round = 0; round < 40; round++) {
      await record(orgId, 5);
      const folding = foldUsage(cutOff).catch(() => 0);
      await pool.query(
        `select pg_terminate_backend(pid)
         from pg_stat_activity
         where datname = current_database()
           and pid <> pg_backend_pid()
           and query like 'with moved%'`,
      );
      await folding;
    }
    await cutOff.end();
    await foldUsage(pool);
    expect((await readLedgerMonth(pool, orgId, 202611))?.accepted).toBe(200);
  });

  it("folds a backlog of one organization in bounded transactions", async ({ createOrganization, pool }) => {
    const orgId = await createOrganization();
    await pool.query(
      "insert into usage_records (bucket, period, items, org_id) select 7, 202611, 1, $1 from generate_series(1, 2500) n",
      [orgId],
    );
    const largest = await largestDeletion(pool, "usage_records");
    expect(await foldUsage(pool, { recordsAtOnce: 1_000 })).toBe(2_500);
    expect((await readLedgerMonth(pool, orgId, 202611))?.accepted).toBe(2_500);
    expect(await largest()).toBe(1_000);
  });
});

describe("counting a month", () => {
  it("reads few rows, however many organizations and months there are", async ({
    pool,
    createOrganization,
    readBlocks,
  }) => {
    await pool.query(
      `insert into usage_totals (org_id, period, items)
       select gen_random_uuid(), 202001 + (n % 12), 1000
       from generate_series(1, 60000) n`,
    );
    await pool.query("analyze usage_totals");
    const orgId = await createOrganization();
    for (let month = 1; month <= 11; month++) {
      await pool.query("insert into usage_totals (org_id, period, items) values ($1, $2, 9000000)", [
        orgId,
        202600 + month,
      ]);
    }
    const before = await readBlocks();
    expect(await readLedgerMonth(pool, orgId, 202611)).toMatchObject({ accepted: 9_000_000 });
    expect((await readBlocks()) - before).toBeLessThan(200);
  });
});
