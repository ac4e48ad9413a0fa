import { createServer, type Socket } from "node:net";
import { createFramer, type Message } from "./framing.ts";
import { monotonicMs } from "./load.ts";
import { createTurns } from "./turns.ts";

/*
 * The receiver of deliveries. It answers 200 at once and prints its port.
 *   GET /count                 the number of deliveries
 *   GET /latency               the latencies of deliveries to `/measured` since the last call, from the `sent_at` in their
 *                              body (milliseconds of the monotonic clock)
 *   GET /turn/<side>/<count>   begins a turn of a side, a digit; answers when `count` of its requests are answered
 *   POST /turns/<side>         waits for a turn of that side
 *   POST /hang                 is never answered
 * In practice, client and receiver are other machines: so that they cost little here, they speak HTTP/1.1 on plain sockets. The
 * answers have the headers that Node's server sends.
 */
const keepAliveSeconds = 60;
let count = 0;
let latencies: number[] = [];

const server = createServer({ noDelay: true }, (socket) => {
  const framer = createFramer((message) => answer(socket, message), 0);
  socket.on("data", framer);
  socket.on("error", () => socket.destroy());
});

function answer(socket: Socket, { bytes, bodyAt }: Message): void {
  if (bytes[0] === get) {
    tell(socket, bytes.toString("latin1", 4, bytes.indexOf(space, 4)));
    return;
  }
  const path = bytes.readUInt32BE(5);
  if (path === turnPath && !turns.has(bytes[sideAt]! - zero, socket)) return;
  if (path === hangPath) return;
  count++;
  if (path === measuredPath) {
    const { sent_at } = JSON.parse(bytes.toString("utf8", bodyAt)) as { sent_at: number };
    latencies.push(monotonicMs() - sent_at);
  }
  socket.write(delivered);
}

const get = "G".charCodeAt(0);
const space = " ".charCodeAt(0);
const zero = "0".charCodeAt(0);
/** The first four bytes of `/measured`, `/turns` and `/hang`. */
const measuredPath = Buffer.from("/mea").readUInt32BE();
const turnPath = Buffer.from("/tur").readUInt32BE();
const hangPath = Buffer.from("/han").readUInt32BE();
const sideAt = "POST /turns/".length;
const turns = createTurns((socket) => {
  count++;
  socket.write(delivered);
});
let delivered = ok("");
setInterval(() => (delivered = ok("")), 1_000).unref();

function tell(socket: Socket, path: string): void {
  const say = (told: object): void => void socket.write(ok(JSON.stringify(told)));
  const turn = /^\/turn\/(\d)\/(\d+)$/.exec(path);
  if (turn !== null) {
    turns.begin(Number(turn[1]), Number(turn[2]), say);
  } else if (path === "/latency") {
    say({ latencies });
    latencies = [];
  } else {
    say({ count });
  }
}

function ok(body: string): string {
  const head = [
    "HTTP/1.1 200 OK",
    `content-length: ${Buffer.byteLength(body)}`,
    `Date: ${new Date().toUTCString()}`,
    "Connection: keep-alive",
    `Keep-Alive: timeout=${keepAliveSeconds}`,
  ];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

const sockets = new Set<Socket>();
server.on("connection", (socket: Socket) => {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
});
process.once("SIGTERM", () => {
  server.close(() => process.exit());
  for (const socket of sockets) socket.destroy();
});
