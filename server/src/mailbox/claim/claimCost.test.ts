import { describe, expect } from "vitest";
import { bucketOf, newId } from "../../postgres/ids.ts";
import { ensurePartitions } from "../../postgres/partitions.ts";
import { changeClaims } from "../finish/changeClaims.ts";
import { type ClaimDeps, claimMessages } from "./claimMessages.ts";
import { claimNamedMessages } from "./claimNamedMessages.ts";
import { closeMessages } from "../finish/closeMessages.ts";
import { createWatermarks } from "./watermarks.ts";
import { file, databaseTest } from "../../../test/support/fixtures.ts";
import { storeOrganization, storeTarget, storeApiKey } from "../../../test/support/storedItems.ts";
import { tuplesRead, vacuum } from "../../../test/support/tuplesRead.ts";

/*
 * The number of tuples that a call reads must depend on the messages that it claims or ends, not on the size of the mailbox. The
 * tests use the database's count of tuples read, because it is exact, while durations are not. Plans of the functions are cached
 * while the tables are empty, as in a new service.
 */

const it = databaseTest({ poolSize: 1 })
  .extend("createMailbox", file, ({ pool }) => async (): Promise<Mailbox> => {
    const org = await storeOrganization(pool);
    await storeApiKey(pool, org, key);
    const id = await storeTarget(pool, org, { kind: "mailbox" });
    const deps = {
      pool,
      retentionMs: 604_800_000,
      watermarks: createWatermarks(() => performance.now()),
      onKeyUsed: () => undefined,
      onMessagesReady: () => undefined,
    };
    return { id, deps };
  })
  /** Inserts messages into a mailbox; with `prefix`, each has its own ordering key. */
  .extend(
    "fill",
    file,
    ({ pool }) =>
      async (mailbox: Mailbox, count: number, prefix: string | null = null): Promise<string[]> => {
        const bucket = bucketOf(mailbox.id);
        const ids = Array.from({ length: count }, () => newId(bucket, Date.now()));
        const keys = ids.map((_id, n) => (prefix === null ? null : `${prefix}${n}`));
        await pool.query(
          `insert into events (bucket, kind, max_retries, billable, target_id, id, org_id, ordering_key, payload)
     select $1, 2, 0, true, t.id, i.id, t.org_id, i.ordering_key, '{}'
     from unnest($3::uuid[], $4::text[]) as i (id, ordering_key)
     join targets t on t.id = $2`,
          [bucket, mailbox.id, ids, keys],
        );
        await pool.query(
          `insert into messages (bucket, mailbox_id, id, ordering_key)
     select $1, $2, i.id, i.ordering_key
     from unnest($3::uuid[], $4::text[]) with ordinality as i (id, ordering_key, number)
     order by i.number`,
          [bucket, mailbox.id, ids, keys],
        );
        return ids;
      },
  )
  .extend(
    "tuplesSoFar",
    file,
    ({ pool }) =>
      () =>
        tuplesRead(pool, "messages"),
  )
  /** Leases all present messages; each lease ends at a different time. */
  .extend("leaseAll", file, ({ pool }) => async (): Promise<void> => {
    await pool.query(
      `update messages
     set state = 2,
       claimable_at = extract(epoch from clock_timestamp()) * 1000 + 600000 + position,
       claimed_by = id,
       claim_token = id`,
    );
    // Without vacuum, the next call would also read the dead tuples of the update.
    await vacuum(pool, "messages");
  })
  /** Runs `work` in its own transaction. Returns its result and the number of tuples of `messages` that it read. */
  .extend(
    "counting",
    file,
    ({ pool, tuplesSoFar }) =>
      async <T>(work: () => Promise<T>): Promise<{ result: T; tuples: number }> => {
        await pool.query("begin");
        const before = await tuplesSoFar();
        const result = await work();
        const tuples = (await tuplesSoFar()) - before;
        await pool.query("commit");
        return { result, tuples };
      },
  )
  /** Runs every kind of call on ten messages. Returns the number of tuples of `messages` that each call read. */
  .extend("tuplesRead", file, ({ counting }) => async (mailbox: Mailbox): Promise<Record<string, number>> => {
    const { deps, id: mailboxId } = mailbox;
    const read: Record<string, number> = {};
    const counted = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      const { result, tuples } = await counting(work);
      read[name] = tuples;
      return result;
    };
    const request = { key, mailboxId, max: 10, leaseMs, claimId: null };
    const claim = async (name: string) => {
      const [outcome] = await counted(name, () => claimMessages(deps, [request]));
      if (outcome?.kind !== "claimed") throw new Error(`${name}: ${JSON.stringify(outcome)}`);
      return outcome.messages.map((message) => ({
        key,
        messageId: message.id,
        mailboxId: null,
        claimToken: message.claimToken,
      }));
    };
    const first = await claim("claim");
    const extend = first.map((message) => ({ ...message, leaseMs, delayMs: 0, reason: null }));
    const release = first.map((message) => ({ ...message, leaseMs: null, delayMs: 0, reason: null }));
    expect(await counted("extend", () => changeClaims(deps, extend))).toHaveLength(first.length);
    expect((await counted("release", () => changeClaims(deps, release)))[0]!.result).toBe("done");
    const named = first.map(({ messageId }) => ({ key, messageId, leaseMs }));
    const again = await counted("claim by id", () => claimNamedMessages(deps, named));
    const held = again.flatMap((outcome) =>
      outcome.kind === "claimed"
        ? [
            {
              key,
              messageId: outcome.message.id,
              mailboxId: null,
              claimToken: outcome.message.claimToken,
              reason: null,
            },
          ]
        : [],
    );
    expect(held).toHaveLength(first.length);
    expect(await counted("acknowledge", () => closeMessages(deps, held))).toEqual(held.map(() => "done"));
    return read;
  });

it.beforeAll(async ({ pool }) => {
  await ensurePartitions(pool, Date.now());
});

const key = `ak_live_${"1".repeat(64)}`;
const leaseMs = 60_000;
/** Numbers of messages that the tests add. */
const messages = { leased: 20_000, ready: 5_000, keyed: 5_000 };

interface Mailbox {
  id: string;
  deps: ClaimDeps & { watermarks: ReturnType<typeof createWatermarks>; onMessagesReady: () => void };
}

/**
 * Tuples allowed beyond the expected ones. The count of remaining messages reads up to a hundred of each state, and index entries
 * of dead row versions are read until no snapshot needs them, which a concurrent ANALYZE can delay. A regression would read ten
 * times as many.
 */
const slack = 500;

function expectNoMore(than: Record<string, number>, read: Record<string, number>): void {
  for (const [name, tuples] of Object.entries(read)) {
    expect(tuples, name).toBeLessThan(than[name]! + slack);
  }
}

describe("the number of tuples that calls of consumers read", () => {
  it("does not grow with the number of leased or ready messages, even with plans made for empty tables", async ({
    createMailbox,
    fill,
    tuplesRead,
    leaseAll,
  }) => {
    const mailbox = await createMailbox();
    // PostgreSQL keeps a generic plan from the sixth execution on.
    for (let times = 0; times < 8; times++) {
      await fill(mailbox, 10);
      await tuplesRead(mailbox);
    }
    await fill(mailbox, 10);
    const empty = await tuplesRead(mailbox);

    await fill(mailbox, messages.leased);
    await leaseAll();
    await fill(mailbox, messages.ready);
    expectNoMore(empty, await tuplesRead(mailbox));
  });

  it("does not grow with the number of ordering keys, even with plans made before there was any", async ({
    createMailbox,
    fill,
    tuplesRead,
    pool,
  }) => {
    await pool.query("analyze messages");
    const mailbox = await createMailbox();
    await fill(mailbox, 10, "a");
    const few = await tuplesRead(mailbox);
    await fill(mailbox, messages.keyed, "b");
    expectNoMore(few, await tuplesRead(mailbox));
  });

  it("does not grow with the number of messages that wait behind another one of their ordering key", async ({
    createMailbox,
    fill,
    tuplesRead,
    pool,
  }) => {
    await pool.query("delete from messages");
    const mailbox = await createMailbox();
    for (let times = 0; times < 8; times++) {
      await fill(mailbox, 10, `a${times}-`);
      await tuplesRead(mailbox);
    }
    await fill(mailbox, 10, "b");
    const few = await tuplesRead(mailbox);
    await fill(mailbox, 10, "c");
    await fill(mailbox, messages.keyed, "d");
    await pool.query(
      `update messages
       set state = 4,
         claimable_at = extract(epoch from clock_timestamp()) * 1000 + 86400000,
         ordering_key = 'c0'
       where ordering_key like 'd%'`,
    );
    await vacuum(pool, "messages");
    expectNoMore(few, await tuplesRead(mailbox));
  });

  it("does not grow with the number of released messages, for claims by id of messages with ordering keys", async ({
    createMailbox,
    fill,
    counting,
    pool,
  }) => {
    const mailbox = await createMailbox();
    const claimById = async (prefix: string): Promise<number> => {
      const ids = await fill(mailbox, 10, prefix);
      const { result, tuples } = await counting(() =>
        claimNamedMessages(
          mailbox.deps,
          ids.map((messageId) => ({ key, messageId, leaseMs })),
        ),
      );
      expect(result.map(({ kind }) => kind)).toEqual(ids.map(() => "claimed"));
      return tuples;
    };
    for (let times = 0; times < 8; times++) await claimById(`a${times}-`);
    const few = await claimById("b");
    await fill(mailbox, messages.keyed, "c");
    await pool.query("update messages set state = 3, claimable_at = 1 where ordering_key like 'c%'");
    expect(await claimById("d")).toBeLessThan(few + slack);
  });

  it("does not grow with the number of leased messages, even with plans made while few were leased", async ({
    pool,
    createMailbox,
    fill,
    tuplesRead,
    leaseAll,
  }) => {
    await pool.query("delete from messages");
    const mailbox = await createMailbox();
    await fill(mailbox, 10);
    const empty = await tuplesRead(mailbox);
    await fill(mailbox, 300);
    await leaseAll();
    await fill(mailbox, messages.leased);
    await pool.query("analyze messages");
    for (let times = 0; times < 8; times++) await tuplesRead(mailbox);
    await leaseAll();
    await fill(mailbox, messages.ready);
    expectNoMore(empty, await tuplesRead(mailbox));
  });
});
