import { createHash, randomBytes } from "node:crypto";
import { describe, expect } from "vitest";
import type pg from "pg";
import { isPlain } from "../../../test/support/plain.ts";
import {
  boolArray,
  byteaArray,
  int2Array,
  int4Array,
  int8Array,
  textArray,
  uuidArray,
} from "./binaryArray.ts";
import { callHot } from "./hotCall.ts";
import { createPool } from "../pool.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";

const it = databaseTest({ poolSize: 4 }).extend(
  "digests",
  file,
  ({ pool }) =>
    async (payloads: Buffer[]): Promise<string[]> => {
      const rows = await callHot<{ digest: string }>(pool, {
        name: "digests",
        text: "select encode(sha256(p), 'hex') as digest from unnest($1::bytea[]) with ordinality as p (p, n) order by n",
        values: [byteaArray(payloads)],
      });
      return rows.map(({ digest }) => digest);
    },
);

describe("a call of a hot function", () => {
  it("passes every kind of parameter unchanged", async ({ pool }) => {
    const id = "0192f3a4b5c67d8e9fa0b1c2d3e4f506";
    const rows = await callHot<Record<string, unknown>>(pool, {
      name: "kinds",
      text: `select $1::uuid[]::text as uuids, $2::bytea[]::text as byteas, $3::text[]::text as texts,
               $4::smallint[]::text as int2s, $5::integer[]::text as int4s, $6::bigint[]::text as int8s,
               $7::boolean[]::text as bools, $8::text as text, $9::bigint as number, $10::boolean as flag,
               $11::text as nothing`,
      values: [
        uuidArray([id, null]),
        byteaArray([Buffer.from([0, 255]), null, Buffer.alloc(0)]),
        textArray(["naïve ✓", null, ""]),
        int2Array([-32_768, 32_767]),
        int4Array([-2_147_483_648, 2_147_483_647]),
        int8Array([0, -1, 2 ** 53 - 1, -(2 ** 40)]),
        boolArray([true, false]),
        "naïve ✓",
        2 ** 53 - 1,
        false,
        null,
      ],
    });
    expect(rows).toEqual([
      {
        uuids: "{0192f3a4-b5c6-7d8e-9fa0-b1c2d3e4f506,NULL}",
        byteas: '{"\\\\x00ff",NULL,"\\\\x"}',
        texts: '{"naïve ✓",NULL,""}',
        int2s: "{-32768,32767}",
        int4s: "{-2147483648,2147483647}",
        int8s: "{0,-1,9007199254740991,-1099511627776}",
        bools: "{t,f}",
        text: "naïve ✓",
        number: 2 ** 53 - 1,
        flag: false,
        nothing: null,
      },
    ]);
  });

  it("keeps the data of many concurrent calls of all sizes apart while it reuses their memory", async ({
    digests,
  }) => {
    for (let round = 0; round < 5; round++) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const payloads = Array.from({ length: 8 }, () => randomBytes((index + 1) * 4_000));
          const expected = payloads.map((payload) => createHash("sha256").update(payload).digest("hex"));
          expect(await digests(payloads)).toEqual(expected);
        }),
      );
    }
  });

  it("fails with the database's error, and the connection can be used again", async ({ pool }) => {
    const call = { name: "division", text: "select 1 / $1::integer as result", values: [0] };
    for (let tries = 0; tries < 8; tries++) {
      await expect(callHot(pool, call)).rejects.toThrow("division by zero");
    }
    expect(await callHot(pool, { ...call, values: [1] })).toEqual([{ result: 1 }]);
  });

  it("rejects a value that is out of range, and sends nothing", async ({ pool, digests }) => {
    const call = { name: "narrow", text: "select $1::smallint[]", values: [int2Array([70_000])] };
    await expect(callHot(pool, call)).rejects.toThrow(/out of range/);
    expect(await digests([Buffer.from("a")])).toHaveLength(1);
  });

  it("never reads a row with the columns of another version of the function", async ({ database, pool }) => {
    const later = createPool({ connection: database.connection, size: 1, onError: () => undefined, isPlain });
    const versions = (on: pg.Pool) =>
      callHot<{ a: number; b: number }>(on, {
        name: "versions",
        text: "select * from versions()",
        values: [],
      });
    await pool.query("create function versions(out a integer, out b integer) language sql as 'select 1, 2'");
    expect(await versions(pool)).toEqual([{ a: 1, b: 2 }]);
    expect(await versions(pool)).toEqual([{ a: 1, b: 2 }]);
    await pool.query("drop function versions");
    await pool.query("create function versions(out b integer, out a integer) language sql as 'select 2, 1'");
    expect(await versions(later)).toEqual([{ a: 1, b: 2 }]);
    await expect(versions(pool)).rejects.toThrow(/result type/);
    await later.end();
  });
});
