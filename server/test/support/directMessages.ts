import type pg from "pg";
import { acceptItems } from "../../src/intake/acceptItems.ts";
import { type ClaimDeps, claimMessages } from "../../src/mailbox/claim/claimMessages.ts";
import { createWatermarks, type Watermarks } from "../../src/mailbox/claim/watermarks.ts";
import { newItem } from "./directItems.ts";
import { storeApiKey, storeOrganization, storeTarget } from "./storedItems.ts";

/*
 * Messages of mailboxes, stored and claimed by a node's statements, for tests that choose the session and its
 * clock.
 */

const apiKey = `ak_live_${"c".repeat(64)}`;

export interface NewMessage {
  mailbox: string;
  /** Ordering key. */
  key?: string;
}

/** Stores an organization for mailboxes. @returns a function that creates a mailbox and returns its id. */
export async function storeMailboxes(pool: pg.Pool): Promise<() => Promise<string>> {
  const orgId = await storeOrganization(pool);
  await storeApiKey(pool, orgId, apiKey);
  return () => storeTarget(pool, orgId, { kind: "mailbox" });
}

/** Accepts messages in one batch; returns their ids, in order. */
export async function putMessages(pool: pg.Pool, messages: readonly NewMessage[]): Promise<string[]> {
  const items = messages.map(({ mailbox, key }) => ({
    ...newItem(apiKey, mailbox),
    payload: Buffer.from("1"),
    orderingKey: key ?? null,
  }));
  const answers = await acceptItems(pool, items, { token: 1, durationMs: 1_000, deadlineMs: 0 }, () => false);
  for (const answer of answers)
    if (answer.outcome !== "unread") throw new Error(`a message was ${answer.outcome}`);
  return items.map(({ id }) => id);
}

/** A node that claims with its own watermarks, at the monotonic time `nowMs`. */
export class ClaimingNode {
  readonly #watermarks: Watermarks;
  nowMs = 0;

  constructor() {
    this.#watermarks = createWatermarks(() => this.nowMs);
  }

  /** Claims through a session; returns the ids. */
  async claim(pool: pg.Pool, mailboxId: string, max: number): Promise<string[]> {
    const deps: ClaimDeps = { pool, retentionMs: 604_800_000, onKeyUsed: () => undefined };
    const request = { key: apiKey, mailboxId, max, leaseMs: 43_200_000, claimId: null };
    const [outcome] = await claimMessages({ ...deps, watermarks: this.#watermarks }, [request]);
    return outcome!.kind === "claimed" ? outcome!.messages.map(({ id }) => id) : [];
  }
}

/** Positions of messages that have not ended, in the order of their ids. */
export async function positionsOf(pool: pg.Pool, ids: readonly string[]): Promise<number[]> {
  const { rows } = await pool.query<{ position: number }>(
    `select m.position
     from messages m
     where m.id = any ($1)
     order by array_position($1, m.id)`,
    [ids],
  );
  return rows.map(({ position }) => position);
}
