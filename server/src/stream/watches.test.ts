import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { expect } from "vitest";
import { databaseTest } from "../../test/support/fixtures.ts";
import { storeOrganization, storeTarget } from "../../test/support/storedItems.ts";
import { until } from "../../test/support/until.ts";
import { newRootId } from "../postgres/ids.ts";
import { createQuiet } from "../runtime/quiet.ts";
import { Watches } from "./watches.ts";

const it = databaseTest();
const quiet = createQuiet({ afterMs: Number.POSITIVE_INFINITY });
const log = { warn: () => undefined };

it("watches that begin again while they end wait for all removals", async ({ pool }) => {
  const orgs = [await storeOrganization(pool), await storeOrganization(pool)] as const;
  const slow = Promise.withResolvers<void>();
  const began: string[] = [];
  let ended = 0;
  /** The pool, with the statement that removes the first organization delayed. */
  const delayed = {
    async query(statement: string | pg.QueryConfig, values?: string[]) {
      if (values?.includes(orgs[0]) === true) await slow.promise;
      began.push(typeof statement === "string" ? "remove" : statement.name!);
      const result = await pool.query(statement, values);
      ended++;
      return result;
    },
  } as unknown as pg.Pool;
  const watches = new Watches({ pool: delayed, log, nodeId: "here", quiet });
  for (const orgId of orgs) await watches.begin(orgId);
  const before = ended;
  for (const orgId of orgs) watches.end(orgId);
  const begun = watches.begin(orgs[0]);
  // Ended: the second removal, and loading the targets.
  await until(() => ended === before + 2);
  await setImmediate();
  slow.resolve();
  await begun;
  await until(() => ended === before + 4);
  expect(began.slice(-2)).toEqual(["remove", "renew_watches"]);
  const { rows } = await pool.query<{ org_id: string }>("select org_id from stream_watches");
  expect(rows.map((row) => row.org_id)).toEqual([orgs[0]]);
});

it("forgets deleted targets before there are very many", async ({ pool }) => {
  const orgId = await storeOrganization(pool);
  const present = await storeTarget(pool, orgId);
  const watches = new Watches({ pool, log, nodeId: "here", quiet });
  watches.start();
  try {
    await watches.begin(orgId);
    const deleted = Array.from({ length: 1_000 }, () => newRootId(Date.now()));
    for (const id of deleted) watches.noteTarget(orgId, id);
    await until(() => deleted.every((id) => watches.orgOf(id) === undefined));
    expect(watches.orgOf(present)).toBe(orgId);
  } finally {
    await watches.stop();
  }
});
