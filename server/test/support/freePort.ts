import { createServer } from "node:net";

/**
 * The range of the ports below: lower than the operating system's ephemeral ports (from 32768 on Linux, from 49152
 * elsewhere), so that no other program gets a port between its choice and its use, or while its server is down.
 */
const range = { first: 20_000, count: 10_000 };
/** Each process of the tests begins at another port. */
let next = (process.pid * 25) % range.count;

/** Returns a port on the loopback address on which nothing listens. */
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
