import { describe, expect } from "vitest";
import { inTransaction } from "../postgres/pool.ts";
import { insertKey, listKeys } from "./keyStore.ts";
import { createKeyUsage } from "./keyUsage.ts";
import { createOrganization } from "./organizationStore.ts";
import { file, databaseTest } from "../../test/support/fixtures.ts";

let statements = 0;

const it = databaseTest({ poolSize: 4 })
  .extend(
    "newKeys",
    file,
    ({ pool }) =>
      async (count: number): Promise<NewKeys> =>
        inTransaction(pool, async (client) => {
          const { id: orgId } = await createOrganization(client, {
            name: "keys",
            billingStatus: "active",
            cause: "test",
            nowMs,
          });
          const keys: { id: string; key: string }[] = [];
          while (keys.length < count) keys.push(await insertKey(client, { orgId, name: "key", nowMs }));
          return { orgId, keys };
        }),
  )
  /** Whether each key is stored as used, in the order of the keys' creation. */
  .extend("used", file, ({ pool }) => async ({ orgId, keys }: NewKeys): Promise<boolean[]> => {
    const listed = await listKeys(pool, orgId);
    return keys.map(({ id }) => listed.find((key) => key.id === id)!.last_used_at !== null);
  });

it.beforeAll(({ pool }) => {
  pool.on("acquire", () => statements++);
});

const quiet = { warn: () => undefined };
const nowMs = Date.now();

interface NewKeys {
  orgId: string;
  keys: { id: string; key: string }[];
}

describe("createKeyUsage", () => {
  it("writes all keys used in an interval in one statement, and runs no statement when none was used", async ({
    newKeys,
    pool,
    used,
  }) => {
    const made = await newKeys(3);
    const { keys } = made;
    const usage = createKeyUsage(pool, quiet);
    for (let uses = 0; uses < 100; uses++) {
      usage.note(keys[0]!.key);
      usage.note(keys[2]!.key);
    }
    statements = 0;
    await usage.flush();
    await usage.flush();
    expect(statements).toBe(1);
    expect(await used(made)).toEqual([true, false, true]);
    const moments = (await listKeys(pool, made.orgId)).map((key) => key.last_used_at ?? 0);
    expect(Math.max(...moments)).toBeGreaterThanOrEqual(Math.floor(nowMs / 1000));
    await usage.stop();
  });

  it("writes the used keys at each interval", async ({ newKeys, pool, used }) => {
    const made = await newKeys(1);
    const { keys } = made;
    const usage = createKeyUsage(pool, quiet, 20);
    usage.note(keys[0]!.key);
    await expect.poll(() => used(made)).toEqual([true]);
    await usage.stop();
  });

  it("writes the remaining keys when it stops", async ({ newKeys, pool, used }) => {
    const made = await newKeys(1);
    const { keys } = made;
    const usage = createKeyUsage(pool, quiet);
    usage.note(keys[0]!.key);
    await usage.stop();
    expect(await used(made)).toEqual([true]);
  });

  it("keeps keys that could not be written, and logs the failure without the key's text", async ({
    newKeys,
    pool,
    used,
  }) => {
    const made = await newKeys(2);
    const { keys } = made;
    const warnings: unknown[] = [];
    const usage = createKeyUsage(pool, { warn: (fields, message) => warnings.push([fields, message]) });
    usage.note(keys[0]!.key);
    usage.note(keys[1]!.key);
    await pool.query("alter table api_keys rename to api_keys_away");
    await usage.flush();
    await pool.query("alter table api_keys_away rename to api_keys");
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings)).not.toContain(keys[1]!.key);
    expect(await used(made)).toEqual([false, false]);
    await usage.flush();
    expect(await used(made)).toEqual([true, true]);
    await usage.stop();
  });

  it("does not wait for another node that writes the same keys, nor deadlock with it", async ({
    newKeys,
    pool,
    used,
  }) => {
    const made = await newKeys(5);
    const { keys } = made;
    const nodes = [createKeyUsage(pool, quiet), createKeyUsage(pool, quiet)];
    for (let round = 0; round < 20; round++) {
      for (const [number, node] of nodes.entries()) {
        for (const { key } of number === 0 ? keys : keys.toReversed()) node.note(key);
      }
      await Promise.all(nodes.map((node) => node.flush()));
    }
    expect(await used(made)).toEqual([true, true, true, true, true]);
    await Promise.all(nodes.map((node) => node.stop()));
  });
});
