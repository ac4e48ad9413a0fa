import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { loadConfig } from "../../../server/src/config/config.ts";
import { createService } from "../../../server/src/process/assemble.ts";
import { createLog } from "../../../server/src/telemetry/log.ts";
import { createFramer } from "../framing.ts";
import { postBytes } from "../load.ts";
import { host, itemBody } from "../workload.ts";
import { intakeOf, acceptAll, sinkOf } from "./acceptancePaths.ts";
import type { Path } from "./path.ts";
import type { World } from "./world.ts";

const requests = 16;

/**
 * Paths of requests over HTTP, one after another on one connection, so that each request is a batch of its own. The service's
 * background loops are not started. The measured allocations include those of the client, which are few.
 */
export async function requestPaths(world: World): Promise<{ paths: Path[]; stop: () => Promise<void> }> {
  const { pool, key } = world;
  // Earlier paths left rows whose due times differ from run to run; rows inserted beside them would split other index pages.
  await pool.query("truncate deliveries");
  const service = createService({
    config: loadConfig({ POSTRIDER_ROLES: "api", LOG_LEVEL: "info" }),
    pool,
    encryptionKey: Buffer.alloc(32, 7),
    // A repeatable clock, so that ids ascend in the same way in each run and the same index pages split.
    nowMs: () => world.nowMs(),
    log: createLog("info", { destination: { write: () => undefined, flush: () => Promise.resolve() } }),
  });
  await service.app.listen({ port: 0, host });
  const client = await connectClient((service.app.server.address() as AddressInfo).port);
  const headers = [`authorization: Bearer ${key}`];
  const webhook = await world.newTarget("posts");
  const mailbox = await world.newTarget("requests", { kind: "mailbox" });
  const post = postBytes(`/t/${webhook}`, headers, itemBody);
  const claim = postBytes(`/api/v1/mailboxes/${mailbox}/claim`, headers, "{}");
  const intake = intakeOf(world, sinkOf());
  const paths: Path[] = [
    {
      name: "post over HTTP, one by one",
      items: requests,
      async run() {
        for (let n = 0; n < requests; n++) await client.ask(post, 202);
      },
    },
    {
      name: "claim and acknowledge over HTTP, one by one",
      items: requests,
      prepare: () => acceptAll(intake, world.batch(mailbox, requests), "unread"),
      async run() {
        for (let n = 0; n < requests; n++) {
          const claimed = JSON.parse(await client.ask(claim, 200)) as Claimed;
          const { id, claim_token } = claimed.messages[0]!;
          const body = JSON.stringify({ messages: [{ id, claim_token }] });
          await client.ask(postBytes(`/api/v1/mailboxes/${mailbox}/ack`, headers, body), 200);
        }
      },
    },
  ];
  return {
    paths,
    async stop() {
      client.close();
      await service.stop();
    },
  };
}

interface Claimed {
  messages: { id: string; claim_token: string }[];
}

interface Client {
  /** Sends a request and returns the body of its answer, whose status must be `status`. */
  ask(request: Buffer, status: number): Promise<string>;
  close(): void;
}

async function connectClient(port: number): Promise<Client> {
  const socket = connect({ port, host, noDelay: true });
  await once(socket, "connect");
  let answered: (message: string) => void = () => undefined;
  let refused: (error: Error) => void = () => undefined;
  const take = createFramer(({ bytes }) => answered(bytes.toString("latin1")));
  socket.on("data", take);
  socket.on("error", (error) => refused(error));
  socket.on("end", () => refused(new Error("the service closed the connection")));
  return {
    async ask(request, status) {
      const answer = await new Promise<string>((resolve, reject) => {
        answered = resolve;
        refused = reject;
        socket.write(request);
      });
      assert.equal(Number(answer.slice(9, 12)), status, answer);
      return answer.slice(answer.indexOf("\r\n\r\n") + 4);
    },
    close: () => socket.destroy(),
  };
}
