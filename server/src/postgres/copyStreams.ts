import type { Readable, Writable } from "node:stream";
import type pg from "pg";
import { from as copyFrom, to as copyTo } from "pg-copy-streams";

/** The rows of a query in PostgreSQL's binary copy format. The session has to belong to the caller until the end. */
export function rowsOf(client: pg.ClientBase, query: string): Readable {
  return client.query(copyTo(`copy (${query}) to stdout (format binary)`));
}

/**
 * A stream that writes rows in the same format into a table. It buffers nothing: `write` is called again only when the
 * previous piece has drained, and not after an error. With a larger buffer, the library would write buffered pieces to a
 * connection that it no longer uses, outside of every caller's control.
 * @param into a table and its columns, quoted: `"events" ("id", "payload")`.
 */
export function rowsInto(client: pg.ClientBase, into: string): Writable {
  return client.query(copyFrom(`copy ${into} from stdin (format binary)`, { highWaterMark: 1 }));
}
