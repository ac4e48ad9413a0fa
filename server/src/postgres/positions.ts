import type pg from "pg";
import { presentCells } from "./ensureCells.ts";
import { functionSchema } from "./functionSchema.ts";

/** Tells this version's functions, which were just installed, to take positions in mailboxes from the clock and not from the sequence. */
export async function takePositionsFromClock(client: pg.ClientBase): Promise<void> {
  await client.query(
    `create or replace function ${functionSchema}.positions_by_clock() returns boolean
     language sql immutable parallel safe as 'select true'`,
  );
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
