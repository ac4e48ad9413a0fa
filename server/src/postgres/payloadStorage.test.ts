import { expect } from "vitest";
import { emptyDatabaseTest as it } from "../../test/support/fixtures.ts";
import { cellSchemas } from "./cells.ts";
import { migrate } from "./migrate.ts";
import { dayMs, ensurePartitions } from "./partitions.ts";

it("payloads are stored with lz4 compression or uncompressed, never with pglz", async ({ pool }) => {
  await migrate(pool, { cells: 2 });
  await ensurePartitions(pool, Date.now() + 30 * dayMs);
  const { rows } = await pool.query<{ schema: string; name: string; way: string }>(
    `select c.relnamespace::regnamespace::text as schema, c.relname as name,
       case when a.attcompression = 'l' then 'lz4' when a.attstorage = 'e' then 'plain' else 'pglz' end as way
     from pg_attribute a
     join pg_class c on c.oid = a.attrelid
     where a.attname = 'payload'
       and c.relkind in ('r', 'p')
       and c.relname ~ '^(events|publications)'`,
  );
  const schemas = new Set(rows.map(({ schema }) => schema));
  expect([...schemas]).toEqual(expect.arrayContaining(cellSchemas(2)));
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter(({ way }) => way === "pglz")).toEqual([]);
});
