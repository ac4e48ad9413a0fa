import type { Readable } from "node:stream";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../../test/support/database.ts";
import { expectLookedInto } from "../../../test/support/installedVersions.ts";
import { checkedVersions, connectionOf, type DriverConnection, privateParts } from "./privateParts.ts";

let database: TestDatabase;
const clients: pg.Client[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await database.drop();
});

function newClient(): pg.Client {
  const { connection } = database;
  const client = new pg.Client("url" in connection ? { connectionString: connection.url } : connection);
  clients.push(client);
  return client;
}

async function connected(): Promise<pg.Client> {
  const client = newClient();
  await client.connect();
  return client;
}

/** The minimal object that the driver runs as a query. */
class Probe {
  readonly text: string;
  readonly seen: string[] = [];
  callback: ((error: Error | null, result?: unknown) => void) | null = null;
  connection: DriverConnection | undefined;

  constructor(text: string) {
    this.text = text;
  }

  submit(connection: DriverConnection & { query(text: string): void }): void {
    this.connection = connection;
    connection.query(this.text);
  }

  handleRowDescription(): void {
    this.seen.push("row description");
  }

  handleDataRow(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.seen.push("ready");
    this.callback?.(null, "result");
  }

  handleError(error: Error): void {
    this.seen.push(error.message);
    this.callback?.(error);
  }
}

/** Bytes sent to the server while `write` runs, in hex. */
function written(connection: DriverConnection, write: () => void): string[] {
  const { stream } = connection;
  const sent: string[] = [];
  const before = stream.write.bind(stream);
  stream.write = (bytes) => sent.push(bytes.toString("hex")) > 0;
  write();
  stream.write = before;
  return sent;
}

/** A connected client, the streams that it passed to `attachListeners`, and the bytes that they received. */
async function tappedClient(): Promise<{ calls: Readable[]; bytes: Buffer[]; client: pg.Client }> {
  const client = newClient();
  const connection = connectionOf(client);
  const attach = connection.attachListeners.bind(connection);
  const calls: Readable[] = [];
  const bytes: Buffer[] = [];
  connection.attachListeners = (stream) => {
    calls.push(stream);
    stream.on("data", (piece: Buffer) => bytes.push(piece));
    attach(stream);
  };
  await client.connect();
  return { calls, bytes, client };
}

const checks: Record<(typeof privateParts)[number], () => Promise<void>> = {
  async "client.connection exists before the client connects"() {
    const client = new pg.Client();
    expect(Object.keys(client)).toContain("connection");
    expect(connectionOf(client)).toBeTypeOf("object");
  },
  async "connection.attachListeners(stream) is called once, with the stream that the server's messages come on"() {
    const { calls, bytes, client } = await tappedClient();
    await client.query("select 1");
    expect(calls).toHaveLength(1);
    // The last message is the ReadyForQuery of an idle session.
    expect(Buffer.concat(bytes).subarray(-6).toString("hex")).toBe("5a0000000549");
  },
  async "a connection reads nothing but the data events of the stream it was given there"() {
    const { calls, client } = await tappedClient();
    expect(calls[0]!.listenerCount("readable")).toBe(0);
    // The two listeners are this test's and the driver's.
    expect(calls[0]!.listenerCount("data")).toBe(2);
    await client.query("select 1");
  },
  async "connection.parsedStatements holds the text of each statement that the server has prepared, by its name"() {
    const client = await connected();
    const { parsedStatements } = connectionOf(client);
    expect(parsedStatements["one"]).toBeUndefined();
    await client.query({ name: "one", text: "select 1" });
    expect(parsedStatements["one"]).toBe("select 1");
  },
  async "connection.parse and connection.describe write their messages at once"() {
    const connection = connectionOf(await connected());
    const name = Buffer.from("it\0").toString("hex");
    expect(written(connection, () => connection.parse({ name: "it", text: "a" }))).toEqual([
      `500000000b${name}61000000`,
    ]);
    expect(written(connection, () => connection.describe({ type: "S", name: "it" }))).toEqual([
      `440000000853${name}`,
    ]);
  },
  async "connection.stream is the socket: its write takes messages of the protocol as bytes"() {
    const client = await connected();
    // A Query message.
    const text = Buffer.from("select 1\0");
    const probe = new Probe("");
    probe.submit = (connection) => {
      const head = Buffer.from([0x51, 0, 0, 0, 4 + text.length]);
      connection.stream.write(Buffer.concat([head, text]));
    };
    await run(client, probe);
    expect(probe.seen).toEqual(["row description", "ready"]);
  },
  async "client.query calls submit of an object that has one, with the connection, and sets its callback"() {
    const client = await connected();
    const probe = new Probe("select 1");
    await run(client, probe);
    expect(probe.connection).toBe(connectionOf(client));
  },
  async "what the server answers comes to handleRowDescription, handleReadyForQuery and handleError"() {
    const client = await connected();
    const good = new Probe("select 1");
    await run(client, good);
    expect(good.seen).toEqual(["row description", "ready"]);
    const bad = new Probe("select 1 / 0");
    await expect(run(client, bad)).rejects.toThrow("division by zero");
    expect(bad.seen).toEqual(["division by zero"]);
  },
  async "pool.query of such an object gives a promise"() {
    const { connection } = database;
    const pool = new pg.Pool("url" in connection ? { connectionString: connection.url } : connection);
    const query = new Probe("select 1") as unknown as pg.Submittable;
    expect(await (pool.query(query) as unknown as Promise<unknown>)).toBe("result");
    await pool.end();
  },
};

function run(client: pg.Client, probe: Probe): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const ended = (error: Error | null, result?: unknown): void => (error ? reject(error) : resolve(result));
    (client.query as (query: unknown, ended: unknown) => unknown).call(client, probe, ended);
  });
}

test.each(privateParts)(
  "the installed driver has this private part, which hot calls use: %s",
  async (part) => {
    await expect(checks[part](), part).resolves.toBeUndefined();
  },
);

test("the private parts listed in privateParts.ts were last checked in the installed versions", () => {
  expectLookedInto(checkedVersions);
});
