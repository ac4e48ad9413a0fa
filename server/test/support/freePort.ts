import { createServer } from "node:net";

/**
 * Ports that are given away here: below those that systems give to whoever names none (from 32768 on Linux, from 49152
 * elsewhere), so that nobody else takes one between its choice and its use, nor while its server is down.
 */
const range = { first: 20_000, count: 10_000 };
/** Each process of the tests begins elsewhere. */
let next = (process.pid * 25) % range.count;

/** A port on the loopback address on which nobody listens, until the caller does. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < range.count; tries++) {
    const port = range.first + next;
    next = (next + 1) % range.count;
    if (await isFree(port)) return port;
  }
  throw new Error("this machine has no free port");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
