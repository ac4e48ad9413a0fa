import type pg from "pg";

/* Single steps of the service's transactions on messages, so that a request can run between two of them. */

/** Locks an ordering key of a mailbox, as claims and acknowledgements do first. */
export async function lockKey(client: pg.ClientBase, mailboxId: string, key: string): Promise<void> {
  await client.query("select lock_message_keys($1, array[$2::text])", [mailboxId, key]);
}

/** Makes a message claimable that is parked behind another of its ordering key. */
export async function unpark(client: pg.ClientBase, id: string): Promise<void> {
  await client.query("update messages set state = 3, claimable_at = 0 where id = $1", [id]);
}

/** Redrives the dead messages of a mailbox. @returns their number. */
export async function redrive(client: pg.ClientBase, mailboxId: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(
    "select redrive_messages(3600000, get_byte(uuid_send($1::uuid), 15)::smallint, $1, null, 10) as count",
    [mailboxId],
  );
  return rows[0]!.count;
}
