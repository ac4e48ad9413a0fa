import { connect, createServer, type Socket } from "node:net";
import type { TestDatabase } from "./database.ts";
import { readyWatcher } from "./postgresAnswer.ts";

/** A proxy between a service and its database that can lose data as a network does. */
export interface DatabaseProxy {
  /** DATABASE_URL of a service behind the proxy. */
  url: string;
  /**
   * Lets the next call of a prepared statement reach the database and commit, and then breaks the connection
   * instead of forwarding the answer. Resolves once that has happened.
   */
  swallowAnswerOf(statement: string): Promise<void>;
  /** Resolves when a client sends this text, which is not forwarded: from then on the proxy is frozen. */
  freezeAt(text: string): Promise<void>;
  /** Breaks every connection at once. */
  sever(): void;
  /** While false, new connections are refused and existing ones are kept. */
  accepts: boolean;
  /**
   * While true, connections are accepted and nothing is forwarded in either direction; it is forwarded afterwards.
   */
  frozen: boolean;
  stop(): Promise<void>;
}

interface Swallow {
  statement: Buffer;
  done: () => void;
}

export async function startDatabaseProxy(database: TestDatabase): Promise<DatabaseProxy> {
  const pairs = new Set<[Socket, Socket]>();
  let swallows: Swallow[] = [];
  let freeze: Swallow | undefined;
  let isAccepting = true;
  let isFrozen = false;

  const server = createServer((client) => {
    if (!isAccepting) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(upstreamOf(database));
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    let swallowing: Swallow | undefined;
    const untilReady = readyWatcher();
    const close = (): void => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of pair) socket.on("error", close).on("close", close);
    client.on("data", (bytes: Buffer) => {
      if (freeze !== undefined && bytes.includes(freeze.statement)) {
        setFrozen(true);
        client.unshift(bytes);
        freeze.done();
        freeze = undefined;
        return;
      }
      swallowing ??= swallows.find(({ statement }) => bytes.includes(statement));
      upstream.write(bytes);
    });
    upstream.on("data", (bytes: Buffer) => {
      if (swallowing === undefined) {
        client.write(bytes);
        return;
      }
      if (!untilReady(bytes)) return;
      const swallowed = swallowing;
      swallows = swallows.filter((one) => one !== swallowed);
      close();
      swallowed.done();
    });
    if (isFrozen) for (const socket of pair) socket.pause();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };

  function setFrozen(value: boolean): void {
    isFrozen = value;
    for (const socket of [...pairs].flat()) {
      if (value) socket.pause();
      else socket.resume();
    }
  }

  return {
    url: urlThrough(database, port),
    swallowAnswerOf: (statement) =>
      new Promise((resolve) => swallows.push({ statement: Buffer.from(`${statement}\0`), done: resolve })),
    freezeAt: (text) =>
      new Promise((resolve) => {
        freeze = { statement: Buffer.from(text), done: resolve };
      }),
    sever() {
      for (const [client] of pairs) client.resetAndDestroy();
    },
    get accepts() {
      return isAccepting;
    },
    set accepts(value) {
      isAccepting = value;
    },
    get frozen() {
      return isFrozen;
    },
    set frozen(value) {
      setFrozen(value);
    },
    stop: () =>
      new Promise((resolve) => {
        for (const [client] of pairs) client.destroy();
        server.close(() => resolve());
      }),
  };
}

function upstreamOf({ connection }: TestDatabase): { path: string } | { host: string; port: number } {
  if ("url" in connection) {
    const url = new URL(connection.url);
    return { host: url.hostname, port: Number(url.port || 5432) };
  }
  const { host, port } = connection;
  return host.startsWith("/") ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
}

function urlThrough({ connection }: TestDatabase, port: number): string {
  if ("url" in connection) {
    const url = new URL(connection.url);
    url.host = `127.0.0.1:${port}`;
    return url.href;
  }
  const { user, database, password } = connection;
  return `postgresql://${user}${password === undefined ? "" : `:${password}`}@127.0.0.1:${port}/${database}`;
}
