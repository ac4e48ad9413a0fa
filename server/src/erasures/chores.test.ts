import { expect } from "vitest";
import { nodeTest, testPool } from "../../test/support/fixtures.ts";
import { holdRows } from "../../test/support/heldLocks.ts";
import { createMailboxTarget } from "../../test/support/items.ts";
import { signUp } from "../../test/support/testNode.ts";
import { until } from "../../test/support/until.ts";
import { bucketOf, newId, unknownId } from "../postgres/ids.ts";
import { carryingOnErasures, eraseDigests } from "./chores.ts";
import { nextErasure } from "./store.ts";

/** A node that only handles requests, so that this test carries out the erasures. */
const it = nodeTest({ POSTRIDER_ROLES: "api" });

// Unfinished erasures of one test would take turns with those of the next.
it.beforeEach(async ({ pool }) => {
  await pool.query("delete from erasures");
});

it("an erasure that always fails does not delay the others", async ({
  node,
  database,
  pool,
  onTestFinished,
}) => {
  const ask = async () => {
    const account = await signUp(node);
    const key = account.api_key;
    const target = await createMailboxTarget(node, account);
    const headers = { "x-correlation-id": "c" };
    const { body: item } = await node.call("POST", `/t/${target}`, { key, headers, body: { a: 1 } });
    const { body: erasure } = await node.call("POST", "/api/v1/erasures", {
      key,
      body: { correlation_id: "c" },
    });
    const read = async () => (await node.call("GET", `/api/v1/erasures/${erasure.id}`, { key })).body;
    return { item, read };
  };
  const [held, ...others] = [await ask(), await ask(), await ask()];
  onTestFinished(await holdRows(pool, "events", { id: held.item.id }));
  const impatient = testPool(database, 1);
  onTestFinished(() => impatient.end());
  // Longer than a run, as is the service's own limit of 10 s: a failing erasure takes a whole run.
  await impatient.query("set lock_timeout = 2500");
  const carryOn = carryingOnErasures({
    pool: impatient,
    mailboxRetentionMs: 86_400_000,
    onMailboxItems: () => undefined,
  });
  await expect(carryOn()).rejects.toThrow("lock timeout");
  expect(await carryOn().catch(String)).toContain("lock timeout");
  for (const { read } of others) expect(await read()).toMatchObject({ erased: 1 });
  expect(await held.read()).toMatchObject({ status: "RUNNING" });
});

it("an erasure of more than 10,000 events begins without counting them all", async ({ node, pool }) => {
  const account = await signUp(node);
  const target = await createMailboxTarget(node, account);
  const newestMs = Date.now();
  await pool.query(
    `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, correlation_id, payload)
     select $1, 2, 8, true, $2, i.id, $3, 'many', '{}' from unnest($4::uuid[]) as i (id)`,
    [
      bucketOf(target),
      target,
      account.user.org_id,
      Array.from({ length: 50_000 }, (_, n) => newId(bucketOf(target), newestMs - n)),
    ],
  );
  const key = account.api_key;
  const body = { correlation_id: "many" };
  const { body: erasure } = await node.call("POST", "/api/v1/erasures", { key, body });
  const carryOn = carryingOnErasures({
    pool,
    mailboxRetentionMs: 86_400_000,
    onMailboxItems: () => undefined,
  });
  expect(await carryOn()).toBeGreaterThan(0);
  const read = await node.call("GET", `/api/v1/erasures/${erasure.id}`, { key });
  expect(read.body).toMatchObject({ status: "RUNNING", total: null });
});

it("publications that reached no target are emptied a thousand at a time", async ({
  node,
  database,
  pool,
  onTestFinished,
}) => {
  const account = await signUp(node);
  const orgId = account.user.org_id;
  const bucket = bucketOf(orgId);
  await pool.query(
    `insert into publications (bucket, id, org_id, correlation_id, payload, event_ids)
     select $1, i.id, $2, 'unheard', '{}', '{}' from unnest($3::uuid[]) as i (id)`,
    [bucket, orgId, Array.from({ length: 2_500 }, () => newId(bucket, Date.now()))],
  );
  const key = account.api_key;
  const body = { correlation_id: "unheard" };
  const { body: erasure } = await node.call("POST", "/api/v1/erasures", { key, body });
  const session = testPool(database, 1);
  onTestFinished(() => session.end());
  const carryOn = carryingOnErasures({
    pool: session,
    mailboxRetentionMs: 86_400_000,
    onMailboxItems: () => undefined,
  });
  // A run ends after two seconds.
  await until(async () => {
    await carryOn();
    return (await node.call("GET", `/api/v1/erasures/${erasure.id}`, { key })).body.status === "DONE";
  });
  const { rows } = await session.query(
    `select s.generic_plans + s.custom_plans as runs, (select count(*) from publications where payload <> '') as kept
     from pg_prepared_statements s
     where s.name = 'erase_publications'`,
  );
  expect(rows).toEqual([{ runs: 3, kept: 0 }]);
});

it("the keys of a bucket are read once for many erased items", async ({ database, pool, onTestFinished }) => {
  // The items of the other tests.
  await eraseDigests(pool);
  const session = testPool(database, 1);
  onTestFinished(() => session.end());
  const ids = Array.from({ length: 2_000 }, () => newId(7, Date.now()));
  await session.query(
    "insert into erased_digests (bucket, event_id) select 7, i.id from unnest($1::uuid[]) as i (id)",
    [ids],
  );
  await session.query(
    `insert into idempotency_keys (bucket, day, key_digest, body_digest, event_id)
     select 7, extract(epoch from now())::integer / 86400, i.id, i.id, i.id from unnest($1::uuid[]) as i (id)`,
    [ids],
  );
  expect(await eraseDigests(session)).toBe(2_000);
  const { rows } = await session.query(
    `select s.generic_plans + s.custom_plans as runs, (select count(*) from idempotency_keys where body_digest = event_id) as kept
     from pg_prepared_statements s
     where s.name = 'erase_digests'`,
  );
  expect(rows).toEqual([{ runs: 1, kept: 0 }]);
  await session.query("set plan_cache_mode = force_generic_plan");
  const plan = await session.query(`explain execute erase_digests(7, '{}', '${ids[0]}')`);
  expect(JSON.stringify(plan.rows)).toContain("Hash Join");
});

it("organizations take turns, however many erasures each of them has", async ({ node, pool }) => {
  const organizations: string[] = [];
  for (const erasures of [3, 1]) {
    const { api_key: key, user } = await signUp(node);
    organizations.push(user.org_id);
    for (let number = 0; number < erasures; number++) {
      const body = { correlation_id: `turn-${number}` };
      expect((await node.call("POST", "/api/v1/erasures", { key, body })).status).toBe(202);
    }
  }
  const turns: string[] = [];
  let last = unknownId;
  for (let picks = 0; picks < 40 && turns.length < 4; picks++) {
    const erasure = await nextErasure(pool, last, []);
    last = erasure!.org_id;
    if (organizations.includes(erasure!.org_id)) turns.push(erasure!.org_id);
  }
  expect(turns.slice(0, 2)).toEqual(turns.slice(2));
  expect(new Set(turns).size).toBe(2);
});
