import { describe, expect } from "vitest";
import { isPlain } from "../../../test/support/plain.ts";
import { callHot } from "./hotCall.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";

const it = databaseTest({ poolSize: 1 })
  /** Returns the value that is read for a column with this SQL expression. */
  .extend("read", file, ({ pool }) => async (expression: string): Promise<unknown> => {
    const text = `select ${expression} as value`;
    const rows = await callHot<{ value: unknown }>(pool, {
      name: `read ${statements++}`,
      text,
      values: [],
    });
    return rows[0]!.value;
  });

let statements = 0;

describe("a column in binary form", () => {
  const id = "0192f3a4-b5c6-7d8e-9fa0-b1c2d3e4f506";
  it.for<[string, unknown]>([
    ["true", true],
    ["false", false],
    ["'\\x00ff10'::bytea", Buffer.from([0, 255, 16])],
    ["''::bytea", Buffer.alloc(0)],
    ["9007199254740991::bigint", 9_007_199_254_740_991],
    ["-9007199254740991::bigint", -9_007_199_254_740_991],
    ["-1::bigint", -1],
    ["4294967296::bigint", 4_294_967_296],
    ["(-32768)::smallint", -32_768],
    ["32767::smallint", 32_767],
    ["(-2147483648)::integer", -2_147_483_648],
    ["2147483647", 2_147_483_647],
    ["0.25::float8", 0.25],
    ["array[true, null, false]", [true, null, false]],
    ["array[1, null, -2]::smallint[]", [1, null, -2]],
    ["array[1, null, -2]::integer[]", [1, null, -2]],
    ["array[1, null, -2, 9007199254740991]::bigint[]", [1, null, -2, 9_007_199_254_740_991]],
    ["''::text", ""],
    ["'naïve ✓ 𝄞'::text", "naïve ✓ 𝄞"],
    [`'${id}'::uuid`, id.replaceAll("-", "")],
    [`array['${id}', null, '${id}']::uuid[]`, [id.replaceAll("-", ""), null, id.replaceAll("-", "")]],
    ["'{}'::uuid[]", []],
    [
      "array['\\x00ff', null, '', '\\x01']::bytea[]",
      [Buffer.from([0, 255]), null, Buffer.alloc(0), Buffer.from([1])],
    ],
    [
      "array['ab', 'ab', 'ac', null, 'ac', '', 'a', '✓', 'abc']",
      ["ab", "ab", "ac", null, "ac", "", "a", "✓", "abc"],
    ],
    ["array['', '']", ["", ""]],
    ["null::uuid[]", null],
    ["null::bigint", null],
    ["null::text", null],
  ])("reads %s", async ([expression, value], { read }) => {
    expect(await read(expression)).toEqual(value);
  });

  it("reads composites as objects, in hot and in plain calls", async ({ pool }) => {
    await pool.query("create type head as (request integer, outcome text, id uuid, until bigint)");
    const rows = await callHot<{ head: unknown; n: number }>(pool, {
      name: "composites",
      text: `select case n
               when 1 then row(7, 'claimed', '${id}', 4294967296)::head
               when 2 then row(-1, null, null, null)::head
             end as head, n
             from generate_series(1, 3) as n`,
      values: [],
      composites: { head: { request: "int4", outcome: "text", id: "uuid", until: "int8" } },
    });
    expect(rows).toEqual([
      { head: { request: 7, outcome: "claimed", id: id.replaceAll("-", ""), until: 4_294_967_296 }, n: 1 },
      { head: { request: -1, outcome: null, id: null, until: null }, n: 2 },
      { head: null, n: 3 },
    ]);
  });

  // In plain calls the driver reads every type.
  it.skipIf(isPlain)(
    "of another type makes the call fail with a reason, and the connection can be used again",
    async ({ read }) => {
      await expect(read("now()")).rejects.toThrow(
        "columns of the type with oid 1184 cannot be read in binary form",
      );
      expect(await read("1")).toBe(1);
    },
  );
});

describe("rows", () => {
  it("are complete and in order, whatever their size and however the network splits them", async ({
    pool,
  }) => {
    const rows = await callHot<{ n: number; text: string | null; bytes: Buffer }>(pool, {
      name: "rows",
      text: `select n, case when n % 3 > 0 then repeat('x', n * n * 40) end as text,
               decode(repeat('00ff', n * 7), 'hex') as bytes
             from generate_series(0, 150) as n`,
      values: [],
    });
    expect(rows.map(({ n }) => n)).toEqual(Array.from({ length: 151 }, (_, n) => n));
    for (const { n, text, bytes } of rows) {
      expect(text).toBe(n % 3 > 0 ? "x".repeat(n * n * 40) : null);
      expect(bytes.equals(Buffer.from("00ff".repeat(n * 7), "hex"))).toBe(true);
    }
  });

  it("of other queries on the same connection are read by the driver", async ({ read, pool }) => {
    expect(await read("1")).toBe(1);
    const { rows } = await pool.query("select n, now() is not null as known from generate_series(1, 3) as n");
    expect(rows).toEqual([1, 2, 3].map((n) => ({ n, known: true })));
    await expect(read("1 / 0")).rejects.toThrow("division by zero");
    expect((await pool.query("select 'text' as value")).rows).toEqual([{ value: "text" }]);
    expect(await read("2")).toBe(2);
  });
});
