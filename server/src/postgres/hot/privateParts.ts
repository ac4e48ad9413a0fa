import type { Readable } from "node:stream";
import type pg from "pg";

/** The versions in which the private parts below were last checked. */
export const checkedVersions = { pg: "8.23.1", "pg-pool": "3.14.0", "pg-protocol": "1.16.1" } as const;

/**
 * All undocumented behavior of the driver on which hot calls depend; privateParts.test.ts tests each entry. No other part of
 * the service uses it.
 */
export const privateParts = [
  "client.connection exists before the client connects",
  "connection.attachListeners(stream) is called once, with the stream that the server's messages come on",
  "a connection reads nothing but the data events of the stream it was given there",
  "connection.parsedStatements holds the text of each statement that the server has prepared, by its name",
  "connection.parse and connection.describe write their messages at once",
  "connection.stream is the socket: its write takes messages of the protocol as bytes",
  "client.query calls submit of an object that has one, with the connection, and sets its callback",
  "what the server answers comes to handleRowDescription, handleReadyForQuery and handleError",
  "pool.query of such an object gives a promise",
] as const;

/** Members of a connection that the driver's types do not declare. */
export interface DriverConnection {
  attachListeners(stream: Readable): void;
  readonly parsedStatements: Readonly<Record<string, string | undefined>>;
  parse(statement: { name: string; text: string }): void;
  describe(statement: { type: "S"; name: string }): void;
  readonly stream: { write(bytes: Buffer): boolean; destroy(): void };
}

/** The connection of a client, which may not be open yet. */
export function connectionOf(client: pg.ClientBase): DriverConnection {
  return (client as unknown as { connection: DriverConnection }).connection;
}
