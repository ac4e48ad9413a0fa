import { createServer, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { postSigned } from "../barePoster.ts";
import { bullmq } from "./bullmq.ts";
import { graphileWorker } from "./graphileWorker.ts";
import type { DeliverJob, Peer, PeerInput, PeerIntake, PeerName } from "./peer.ts";
import { pgBoss } from "./pgBoss.ts";
import { together } from "./together.ts";

/*
 * One process of a peer. Arguments: `prepare`, `serve` or `work`, and a PeerInput as JSON. `serve` accepts jobs over HTTP
 * and answers 202 once they are durable: `POST /one` adds each job with a call of its own, `POST /many` adds concurrent
 * jobs with one call. Prints its port when it is ready, or 0 if it has none.
 */
const peers: Record<PeerName, Peer> = { "graphile-worker": graphileWorker, "pg-boss": pgBoss, bullmq };
const [task = "", json = "{}"] = process.argv.slice(2);
const input = JSON.parse(json) as PeerInput;
const peer = peers[input.peer];

if (task === "serve") {
  serve(await peer.openIntake(input));
} else if (task === "work") {
  await peer.work(input, deliverTo(input.url));
  process.stdout.write("0\n");
} else {
  await peer.prepare(input);
  process.stdout.write("0\n");
}

function serve(intake: PeerIntake): void {
  const batches = together((jobs: object[]) => intake.addMany(jobs));
  const take = async (request: IncomingMessage): Promise<number> => {
    try {
      const job = JSON.parse((await buffer(request)).toString()) as object;
      await (request.url === "/many" ? batches.add(job) : intake.add(job));
      return 202;
    } catch (error) {
      process.stderr.write(`${input.peer}: ${(error as Error).message}\n`);
      return 500;
    }
  };
  const server = createServer((request, response) => {
    void take(request).then((status) => {
      const body = status === 202 ? '{"status":"QUEUED"}' : "{}";
      response.writeHead(status, { "content-type": "application/json", "content-length": body.length });
      response.end(body);
    });
  });
  server.listen(0, "127.0.0.1", () => {
    const address = server.address();
    process.stdout.write(`${typeof address === "object" ? address?.port : ""}\n`);
  });
}

/** Delivers like Postrider: with its outbound client and a signature of Standard Webhooks. */
function deliverTo(url: string): DeliverJob {
  return async (id, payload) => {
    const result = await postSigned(url, { id, body: Buffer.from(JSON.stringify(payload)) });
    return { status: result.kind === "response" ? result.status : 0, durationMs: result.durationMs };
  };
}
