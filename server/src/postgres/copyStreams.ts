import type { Readable, Writable } from "node:stream";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

/** The rows of a query in PostgreSQL's binary copy format. The session has to belong to the caller until the end. */
export function rowsOf(client: pg.ClientBase, query: string): Readable {
  return client.query(copyTo(`copy (${query}) to stdout (format binary)`));
}

/**
 * Takes rows in the same format, one piece at a time: `write` is called again only when the piece before has drained, and not after
 * an error. The library would pass what it has buffered on to a connection that it has left, outside of every caller's reach.
 * @param into a table and its columns, quoted: `"events" ("id", "payload")`.
 */
export function rowsInto(client: pg.ClientBase, into: string): Writable {
  return client.query(copyFrom(`copy ${into} from stdin (format binary)`, { highWaterMark: 1 }));
}
