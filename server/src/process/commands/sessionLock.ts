import type pg from "pg";
import { CommandError } from "../../runtime/commandError.ts";

/**
 * Takes an advisory lock for the session, or says who has it.
 * @throws {CommandError} when another session has it.
 */
export async function takeSessionLock(client: pg.ClientBase, key: number, whoHasIt: string): Promise<void> {
  const { rows } = await client.query<{ is_ours: boolean }>("select pg_try_advisory_lock($1) as is_ours", [
    key,
  ]);
  if (rows[0]!.is_ours) return;
  throw new CommandError(`${whoHasIt}: try again later`, "conflict");
}

/** When this process dies, the server gives up the statement under way, where its platform lets it notice. */
export async function stopSoon(client: pg.ClientBase): Promise<void> {
  await client.query("set client_connection_check_interval = '500ms'").catch(() => undefined);
}
