import { readFile } from "node:fs/promises";
import fc from "fast-check";
import type pg from "pg";
import { describe, expect } from "vitest";
import { bucketOf, unknownId } from "../src/postgres/ids.ts";
import { ensurePartitions } from "../src/postgres/partitions.ts";
import { listMessages } from "../src/mailbox/view/listMessages.ts";
import {
  ClaimingNode,
  type NewMessage,
  positionsOf,
  putMessages,
  storeMailboxes,
} from "./support/directMessages.ts";
import { databaseTest, file } from "./support/fixtures.ts";

/*
 * When Citus has placed the cells, positions in mailboxes come from the clock of the server that runs the
 * statement. Here one PostgreSQL server numbers messages in the same way, and each step sets its clock: behind
 * another server's after a move, or back.
 */

const startMs = Date.now();

const it = databaseTest({ poolSize: 1 }).extend("newMailbox", file, ({ pool }) => storeMailboxes(pool));

it.beforeAll(async ({ pool }) => {
  await pool.query(
    `create function test_now() returns timestamptz language sql stable as
       $$ select to_timestamp(current_setting('test.now_ms')::bigint / 1000.0) $$;
     create or replace function positions_by_clock() returns boolean language sql immutable as 'select true'`,
  );
  for (const name of ["message_positions", "claim_messages"]) {
    const path = `../src/postgres/sql/mailbox/${name}.sql`;
    const source = await readFile(new URL(path, import.meta.url), "utf8");
    const clocked = source.replaceAll("clock_timestamp()", "test_now()");
    if (clocked === source) throw new Error(`${name} has another clock now`);
    const own = clocked.replace(/create function positions_by_clock[^]*?\$\$;/, "");
    await pool.query(own.replaceAll("create function", "create or replace function"));
  }
  await ensurePartitions(pool, startMs);
});

/** Accepts messages in one batch when the server's clock is `atMs` after the start; returns their ids. */
async function send(pool: pg.Pool, atMs: number, messages: readonly NewMessage[]): Promise<string[]> {
  await setClock(pool, atMs);
  return putMessages(pool, messages);
}

async function setClock(pool: pg.Pool, atMs: number): Promise<void> {
  await pool.query("select set_config('test.now_ms', $1, false)", [String(startMs + atMs)]);
}

/** A node of the service whose claims run when the server's clock is `atMs` after the start. */
class Node extends ClaimingNode {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    super();
    this.#pool = pool;
  }

  async claimAt(atMs: number, mailboxId: string, max: number): Promise<string[]> {
    await setClock(this.#pool, atMs);
    return this.claim(this.#pool, mailboxId, max);
  }

  /**
   * Claims three messages one by one, each time from the first position: the watermark is then the second
   * message's position, and is used.
   */
  async claimInTurn(atMs: number, mailboxId: string): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      if (n > 0) this.nowMs += 2_000;
      ids.push(...(await this.claimAt(atMs, mailboxId, 1)));
    }
    return ids;
  }

  /** Claims messages one by one until none is left. */
  async drain(atMs: number, mailboxId: string): Promise<string[]> {
    const ids: string[] = [];
    for (;;) {
      const [id] = await this.claimAt(atMs, mailboxId, 1);
      if (id === undefined) return ids;
      ids.push(id);
    }
  }
}

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ send: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ claim: fc.integer({ min: 1, max: 3 }), by: fc.constantFrom(0, 1) }) },
  { weight: 3, arbitrary: fc.record({ wait: fc.constantFrom(1, 100, 900, 1_900, 2_500, 8_000) }) },
  // A move of the cell to a server with another clock.
  { weight: 1, arbitrary: fc.record({ move: fc.constantFrom(-60_000, -6_000, -1_000, 0, 30_000) }) },
);
/** The difference between the clocks of the coordinator and of the cell's server, and which of them runs a step. */
const anySkew = fc.integer({ min: -450, max: 450 });

describe("the order of acceptance by clocks", () => {
  it("holds through moves, clock steps and both ways of connecting, for every consumer", async ({
    pool,
    newMailbox,
  }) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(anyStep, anySkew), { minLength: 5, maxLength: 30 }),
        async (steps) => {
          const mailbox = await newMailbox();
          const nodes = [new Node(pool), new Node(pool)];
          const waiting: string[] = [];
          let [nowMs, clockMs] = [0, 0];
          const pass = (ms: number): void => {
            nowMs += ms;
            for (const node of nodes) node.nowMs = nowMs;
          };
          const claims: { got: string[]; wanted: string[] }[] = [];
          for (const [step, skew] of steps) {
            const atMs = nowMs + clockMs + skew;
            if ("send" in step) waiting.push(...(await send(pool, atMs, three(mailbox).slice(0, step.send))));
            else if ("claim" in step)
              claims.push({
                got: await nodes[step.by]!.claimAt(atMs, mailbox, step.claim),
                wanted: waiting.splice(0, step.claim),
              });
            else if ("wait" in step) pass(step.wait);
            else {
              clockMs = step.move;
              pass(2_500);
            }
          }
          claims.push({ got: await nodes[0]!.drain(nowMs + clockMs, mailbox), wanted: waiting });
          expect(claims.map(({ got }) => got)).toEqual(claims.map(({ wanted }) => wanted));
        },
      ),
      { numRuns: 80 },
    );
  });

  it("is that of the clock, and items of a batch keep their order", async ({ pool, newMailbox }) => {
    const [mailbox, other] = [await newMailbox(), await newMailbox()];
    const ids = await send(pool, 0, [{ mailbox }, { mailbox: other }, { mailbox }, { mailbox, key: "k" }]);
    const positions = await positionsOf(pool, ids);
    expect(positions).toEqual([1, 2, 3, 4].map((n) => startMs * 1_000 + n));
    expect(Number.isSafeInteger(positions[3])).toBe(true);
  });

  it("holds for each mailbox of a batch when one has messages from a clock that is ahead", async ({
    pool,
    newMailbox,
  }) => {
    const [mailbox, other] = [await newMailbox(), await newMailbox()];
    const node = new Node(pool);
    const ahead = await send(pool, 3_600_000, [{ mailbox }, { mailbox }]);
    const [before] = await send(pool, 0, [{ mailbox: other }]);
    const [later, ofOther] = await send(pool, 1, [{ mailbox }, { mailbox: other }]);
    expect(await node.drain(2, mailbox)).toEqual([...ahead, later]);
    expect(await node.drain(2, other)).toEqual([before, ofOther]);
  });

  it("holds for an ordering key whose earlier message is claimed, released, or behind others", async ({
    pool,
    newMailbox,
  }) => {
    const mailbox = await newMailbox();
    const node = new Node(pool);
    const [first] = await send(pool, 3_600_000, [{ mailbox, key: "k" }]);
    expect(await node.claimAt(3_600_000, mailbox, 1)).toEqual([first]);
    const [second] = await send(pool, 0, [{ mailbox, key: "k" }]);
    const [third] = await send(pool, 1, [{ mailbox, key: "k" }]);
    const [free] = await send(pool, 2, [{ mailbox }]);
    expect(await node.claimAt(3, mailbox, 3)).toEqual([free]);
    await pool.query(
      "update messages set state = 3, claimable_at = 0, claimed_by = null, claim_token = null where id = $1",
      [first],
    );
    expect(await node.claimAt(4, mailbox, 3)).toEqual([first]);
    const positions = await positionsOf(pool, [first!, second!, third!]);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });

  it("holds when the clock steps back by less than a watermark is valid", async ({ pool, newMailbox }) => {
    const mailbox = await newMailbox();
    const node = new Node(pool);
    const before = await send(pool, 5_000, three(mailbox));
    expect(await node.claimInTurn(5_000, mailbox)).toEqual(before);
    const [early] = await send(pool, 4_000, [{ mailbox }]);
    const [late] = await send(pool, 5_010, [{ mailbox }]);
    node.nowMs += 1_020;
    expect(await node.claimAt(5_020, mailbox, 1)).toEqual([early]);
    expect(await node.claimAt(5_020, mailbox, 1)).toEqual([late]);
  });

  it("holds for messages far before a watermark, claimed one by one", async ({ pool, newMailbox }) => {
    const mailbox = await newMailbox();
    const node = new Node(pool);
    const before = await send(pool, 5_000, three(mailbox));
    expect(await node.claimInTurn(5_000, mailbox)).toEqual(before);
    const early = await send(pool, -3_600_000, three(mailbox));
    const late = await send(pool, 20_000, [{ mailbox }]);
    node.nowMs += 4_000;
    expect(await node.drain(20_000, mailbox)).toEqual([...early, ...late]);
  });

  it("skips no message that was accepted at the same moment as another", async ({ pool, newMailbox }) => {
    const mailbox = await newMailbox();
    const node = new Node(pool);
    const ids = await send(pool, 0, [...three(mailbox), { mailbox }]);
    await acceptedAtOnce(pool, ids.slice(0, 3));
    const claimed = await node.claimAt(10_000, mailbox, 1);
    node.nowMs += 2_000;
    // First from the first message, then from a watermark at their position.
    for (let n = 0; n < 2; n++) claimed.push(...(await node.claimAt(10_000, mailbox, 1)));
    expect(claimed.toSorted()).toEqual(ids.slice(0, 3).toSorted());
    expect(await node.claimAt(10_000, mailbox, 1)).toEqual([ids[3]]);
  });

  it("omits none of these messages from a list", async ({ pool, newMailbox }) => {
    const mailbox = await newMailbox();
    const ids = await send(pool, 0, [...three(mailbox), { mailbox }]);
    await acceptedAtOnce(pool, ids.slice(0, 3));
    const moment = {
      id: mailbox,
      bucket: bucketOf(mailbox),
      maxClaims: null,
      nowMs: startMs,
      expiredBefore: unknownId,
      retentionMs: 604_800_000,
    };
    const listed: string[] = [];
    for (let n = 0; n < ids.length; n++) {
      const request = { status: undefined, limit: 1, after: listed.at(-1) };
      for (const { id } of (await listMessages({ pool, retentionMs: 604_800_000 }, moment, request))!)
        listed.push(id);
    }
    expect(listed.toSorted()).toEqual(ids.toSorted());
    expect(listed.at(-1)).toBe(ids[3]);
  });

  it("skips no message after one whose ordering key has to wait", async ({ pool, newMailbox }) => {
    const mailbox = await newMailbox();
    const node = new Node(pool);
    const [first] = await send(pool, 0, [{ mailbox, key: "k" }]);
    expect(await node.claimAt(0, mailbox, 1)).toEqual([first]);
    const [blocked, free, next] = await send(pool, 1, [{ mailbox, key: "k" }, { mailbox }, { mailbox }]);
    await acceptedAtOnce(pool, [blocked!, free!]);
    expect(await node.claimAt(10_000, mailbox, 1)).toEqual([free]);
    expect(await node.claimAt(10_000, mailbox, 1)).toEqual([next]);
  });
});

function three(mailbox: string): NewMessage[] {
  return [{ mailbox }, { mailbox }, { mailbox }];
}

/** As if they had been accepted in batches that did not see each other. */
async function acceptedAtOnce(pool: pg.Pool, ids: readonly string[]): Promise<void> {
  for (const id of ids)
    await pool.query("update messages set position = $1 where id = $2", [startMs * 1_000 + 1, id]);
}
