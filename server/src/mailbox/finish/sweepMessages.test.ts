import { describe, expect } from "vitest";
import { bucketOf, newId, newRootId } from "../../postgres/ids.ts";
import {
  foldMailboxActivity,
  forgetDeletedMailboxes,
  sweepClaimIds,
  sweepExpiredMessages,
} from "./sweepMessages.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { storeOrganization, storeTarget } from "../../../test/support/storedItems.ts";

const it = databaseTest({ poolSize: 4 })
  .extend(
    "insertMessages",
    file,
    ({ pool }) =>
      async (count: number, ageMs: number, orderingKey: string | null = null): Promise<string[]> => {
        const mailbox = newRootId(Date.now());
        const bucket = Number.parseInt(mailbox.slice(30), 16);
        const ids = Array.from({ length: count }, () => newId(bucket, Date.now() - ageMs));
        await pool.query(
          `insert into messages (bucket, mailbox_id, id, ordering_key)
     select $1, $2, id, $4
     from unnest($3::uuid[]) as i (id)`,
          [bucket, mailbox, ids, orderingKey],
        );
        return ids;
      },
  )
  .extend("count", file, ({ pool }) => async (table: string): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(`select count(*) as count from ${table}`);
    return rows[0]!.count;
  });

const retentionMs = 3_600_000;

describe("sweeping", () => {
  it("removes exactly the messages past retention, in calls of bounded size", async ({
    insertMessages,
    pool,
  }) => {
    await insertMessages(2_500, retentionMs + 1_000);
    await insertMessages(3, retentionMs + 1_000, "k");
    const kept = await insertMessages(5, 1_000);
    expect(await sweepExpiredMessages(pool, retentionMs)).toBe(2_503);
    const { rows } = await pool.query<{ id: string }>("select id from messages order by id");
    expect(rows.map((row) => row.id)).toEqual(kept.sort());
    expect(await sweepExpiredMessages(pool, retentionMs)).toBe(0);
  });

  it("deletes Claim-Ids whose leases have ended", async ({ pool, count }) => {
    const id = newRootId(Date.now());
    for (const [digest, expiresAt] of [
      ["\\x01", Date.now() - 1],
      ["\\x02", Date.now() + 60_000],
    ]) {
      await pool.query(
        `insert into message_claims (bucket, mailbox_id, key_id, claim_digest, claim_token, message_ids, expires_at)
         values (0, $1, $1, $2, $1, '{}', $3)`,
        [id, digest, expiresAt],
      );
    }
    expect(await sweepClaimIds(pool)).toBe(1);
    expect(await count("message_claims")).toBe(1);
  });

  it("folds the ledger without changing its sums", async ({ pool, count }) => {
    await pool.query("truncate mailbox_activity, mailbox_minutes");
    const org = newRootId(Date.now());
    const box = newRootId(Date.now());
    await storeOrganization(pool, org);
    await storeTarget(pool, org, { id: box, kind: "mailbox" });
    const minute = Math.floor(Date.now() / 60_000);
    for (const [at, accepted, acknowledged] of [
      [minute, 5, 2],
      [minute, 1, 1],
      [minute - 100, 7, 4],
    ] as const) {
      await pool.query(
        `insert into mailbox_activity (bucket, minute, accepted, acknowledged, held, mailbox_id)
         values (7, $1, $2, $3, $2::integer - $3::integer, $4)`,
        [at, accepted, acknowledged, box],
      );
    }
    await foldMailboxActivity(pool);
    await foldMailboxActivity(pool);
    expect(await count("mailbox_activity")).toBe(0);
    const { rows } = await pool.query(
      "select minute, accepted, acknowledged, held from mailbox_minutes order by minute",
    );
    expect(rows).toEqual([
      { minute: 0, accepted: 0, acknowledged: 0, held: 3 },
      { minute, accepted: 6, acknowledged: 3, held: 3 },
    ]);
    expect(await forgetDeletedMailboxes(pool)).toBe(0);
    await pool.query("delete from targets");
    expect(await forgetDeletedMailboxes(pool)).toBe(1);
  });
});

it("a redrive ends a bounded number of lapsed claims in one transaction", async ({ pool, count }) => {
  const mailbox = await storeTarget(pool, await storeOrganization(pool), { kind: "mailbox" });
  await pool.query("update targets set max_claims = 1 where id = $1", [mailbox]);
  const ids = Array.from({ length: 1_500 }, () => newId(bucketOf(mailbox), Date.now()));
  await pool.query(
    `insert into messages (bucket, state, mailbox_id, id, claimable_at, claim_count, claimed_by, claim_token)
     select $1, 2, $2, id, 1, 1, id, id from unnest($3::uuid[]) as i (id)`,
    [bucketOf(mailbox), mailbox, ids],
  );
  const { rows } = await pool.query(`select redrive_messages($1, $2, $3, '{}', 10) as redriven`, [
    retentionMs,
    bucketOf(mailbox),
    mailbox,
  ]);
  expect(rows).toEqual([{ redriven: null }]);
  expect(await count("closed_messages")).toBe(1_000);
});
