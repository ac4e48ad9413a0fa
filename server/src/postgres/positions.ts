import type pg from "pg";
import { presentCells } from "./ensureCells.ts";
import { functionSchemaPattern } from "./functionSchema.ts";

/**
 * Tells the functions of all versions where positions in mailboxes come from: the clock where Citus has placed the cells on servers, and
 * else the sequence. Sessions that have used the functions keep what they know, so no service runs meanwhile.
 */
export async function steerPositions(client: pg.ClientBase, isByClock: boolean): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    `select n.nspname as schema
     from pg_proc p
     join pg_namespace n on n.oid = p.pronamespace
     where n.nspname ~ $1
       and p.proname = 'positions_by_clock'`,
    [functionSchemaPattern],
  );
  for (const { schema } of rows) {
    await client.query(
      `create or replace function ${schema}.positions_by_clock() returns boolean
       language sql immutable parallel safe as 'select ${isByClock}'`,
    );
  }
}

/**
 * Lets the sequence continue after every position that cells have, which came from the clock. Reads all messages: for the end of a
 * distribution, when the tables are on one PostgreSQL again. The session finds the control plane's tables.
 */
export async function continuePositions(client: pg.ClientBase): Promise<void> {
  for (const schema of await presentCells(client)) {
    await client.query(
      `select setval('message_positions', l.position)
       from (
         select max(p.position) as position
         from (
           select max(m.position) as position from ${schema}.messages m
           union all
           select max(c.position) from ${schema}.closed_messages c
         ) p
       ) l
       cross join message_positions s
       where l.position > s.last_value`,
    );
  }
}
