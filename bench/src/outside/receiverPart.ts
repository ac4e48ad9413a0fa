import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createFramer } from "../framing.ts";
import { summarize } from "../load.ts";
import { answerParent, partArgs } from "../part.ts";
import { createArrivals } from "./arrivals.ts";
import { createClock, createIdFinder } from "./eventId.ts";
import { compileNative, readRecords, startNative } from "./native.ts";

/*
 * The receiver: answers 200 at once, except on paths that begin with `/hang`, which it never answers. In practice receivers are
 * other machines, but here it shares the processors with the measured service. So a compiled program does the work if there is
 * a C compiler; otherwise this process speaks HTTP/1.1 on plain sockets.
 */
export interface ReceiverArgs {
  run: string;
  host: string;
  port: number;
  isNative: boolean;
}

const args = partArgs<ReceiverArgs>();
const arrivals = createArrivals();
/** Requests on paths that are never answered. */
let hanging = 0;

const recordBytes = 24;
const listening = -2;
const isHanging = -1;

async function receiveNatively(): Promise<void> {
  const path = await compileNative("receive");
  const program = await startNative(path, [args.host, String(args.port), args.run]);
  const ended = once(program, "exit").then(() => {
    throw new Error(`the receiver cannot listen on ${args.host}:${args.port}`);
  });
  await Promise.race([
    ended,
    new Promise<void>((resolve) => {
      readRecords(program, recordBytes, (records, at) => {
        const number = records.getInt32(at + 4, true);
        if (number === listening) resolve();
        else if (number === isHanging) hanging++;
        else {
          const sentAtMs = records.getFloat64(at + 8, true);
          const arrivedAtMs = records.getFloat64(at + 16, true);
          arrivals.record({ path: records.getUint32(at, true), number, sentAtMs, arrivedAtMs });
        }
      });
    }),
  ]);
  ended.catch(() => process.disconnect?.());
}

const ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const space = 32;

function receiveInNode(): Promise<void> {
  const now = createClock();
  const find = createIdFinder(args.run);
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    const framer = createFramer(({ bytes, bodyAt }) => {
      const from = bytes.indexOf(space) + 1;
      const path = bytes.toString("latin1", from, bytes.indexOf(space, from));
      if (path.startsWith("/hang")) {
        hanging++;
        return;
      }
      socket.write(ok, "latin1");
      const event = find(bytes.toString("latin1", bodyAt));
      if (event !== undefined) arrivals.record({ path, ...event, arrivedAtMs: now() });
    }, 0);
    socket.on("data", framer);
    socket.on("error", () => socket.destroy());
  });
  return new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(args.port, args.host, resolve);
  });
}

answerParent({
  start: args.isNative ? receiveNatively : receiveInNode,
  counts: () => ({ ...arrivals.counts(), hanging }),
  latency: () => summarize(arrivals.takeLatencies(), 0, 1),
  missing: ({ accepted, paths }: { accepted: Uint8Array; paths: number }) =>
    arrivals.missing(accepted, paths),
});
