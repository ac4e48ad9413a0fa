import { createServer } from "node:http";
import { monotonicMs } from "./load.ts";

/*
 * The receiver of deliveries: answers 200 at once, and counts. `GET /count` says how many came, `GET /latency`
 * how long the items of the last run took from the `sent_at` (of the monotonic clock, in milliseconds) in their body, and forgets them.
 * Prints its port.
 */
let count = 0;
let latencies: number[] = [];
const server = createServer((request, response) => {
  if (request.method === "GET") {
    const answer = request.url === "/latency" ? { latencies } : { count };
    if (request.url === "/latency") latencies = [];
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
    return;
  }
  const measures = request.url === "/measured";
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => {
    if (measures) chunks.push(chunk);
  });
  request.on("end", () => {
    count++;
    if (measures) {
      const { sent_at } = JSON.parse(Buffer.concat(chunks).toString()) as { sent_at: number };
      latencies.push(monotonicMs() - sent_at);
    }
    response.writeHead(200, { "content-length": 0 });
    response.end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
});
process.once("SIGTERM", () => server.close(() => process.exit()).closeAllConnections());
