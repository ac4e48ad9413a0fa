import { expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { isHandoff, isPulled, kindNumbers, targetKinds } from "./kinds.ts";

const it = databaseTest();

it("has the same numbers and traits of kinds in SQL as in code", async ({ pool }) => {
  const { rows } = await pool.query<{ kind: string; number: number; pulled: boolean; handoff: boolean }>(
    `select kind, kind_number(kind) as number, is_pulled(kind_number(kind)) as pulled, is_handoff(kind_number(kind)) as handoff
     from unnest($1::text[]) as k (kind)`,
    [targetKinds],
  );
  expect(rows).toEqual(
    targetKinds.map((kind) => {
      const number = kindNumbers[kind];
      return { kind, number, pulled: isPulled(number), handoff: isHandoff(number) };
    }),
  );
});
