import { expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { isHandoff, isPulled, kindNumbers, targetKinds } from "./kinds.ts";

const it = databaseTest();

it("kinds have the same numbers and properties in SQL as in TypeScript", async ({ pool }) => {
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
