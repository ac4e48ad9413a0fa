import { parentPort, workerData } from "node:worker_threads";
import { Registry } from "prom-client";
import { createPool } from "../../postgres/pool.ts";
import { parseNetworks } from "../../outbound/addressGuard.ts";
import { createSecretBox } from "../../items/secretBox.ts";
import { createLineForwarder } from "../../telemetry/lineWriter.ts";
import { startTelemetry } from "../../telemetry/otel/startTelemetry.ts";
import { createLog } from "../../telemetry/log.ts";
import { connectOutbound } from "../../outbound/connectOutbound.ts";
import { withTryout } from "../../tryout/receiver.ts";
import { createDelivery } from "../dispatch/createDelivery.ts";
import { notSent } from "../../items/delivery.ts";
import { BorrowedClaims } from "../dispatch/borrowedClaims.ts";
import { countChanges } from "./countChanges.ts";
import type { FromThread, ThreadInput, ToThread } from "./messages.ts";

/*
 * The helping thread: a dispatcher of its own, on connections of its own, that claims only for the targets that the main
 * thread lends it. It begins with the first loan and ends when it is told to.
 */

/** One for claims, one for attempts, one for what is asked about targets. */
const connections = 3;

const main = parentPort!;
const input = workerData as ThreadInput;
const say = (message: FromThread): void => main.postMessage(message);
const log = createLog(input.config.logLevel, {
  everyRequest: input.config.logRequests,
  destination: createLineForwarder((text) => say({ say: "lines", text })),
});
const pool = createPool({
  connection: input.connection,
  size: connections,
  isPlain: input.config.fastSql === "off",
  onError: (error) => log.warn({ err: error }, "a database connection was lost; another takes its place"),
});
const registry = new Registry();
const box = createSecretBox({
  current: Buffer.from(input.encryptionKey),
  previous: input.previousEncryptionKeys.map((key) => Buffer.from(key)),
});
const outbound = withTryout(connectOutbound(input.config, parseNetworks(input.config.allowedNetworks)), {
  pool,
  box,
  log,
  nowMs: Date.now,
});
const telemetry = input.telemetry && (await startTelemetry(input.telemetry, log));
const claims = new BorrowedClaims((targetId) => say({ say: "ended", targetId }));
const dispatcher = createDelivery({
  config: input.config,
  pool,
  box,
  outbound,
  log,
  changes: countChanges(input.watchedFlag, (counts) => say({ say: "counts", counts })),
  registry,
  traces: telemetry?.traces,
  nowMs: Date.now,
  // Only webhooks are lent.
  sendHandoff: () => Promise.resolve(notSent("the service could not make the attempt")),
  borrowed: claims,
});
dispatcher.start();

async function stop(): Promise<void> {
  await dispatcher.stop();
  outbound.close();
  await telemetry?.stop();
  await pool.end();
  say({ say: "metrics", values: await registry.getMetricsAsJSON() });
  await log.flush();
  main.close();
  // A collector that does not answer keeps its connection, and with it the thread.
  if (telemetry !== undefined) process.exit();
}

main.on("message", (message: ToThread) => {
  switch (message.say) {
    case "borrow":
      claims.borrow(message.targetId, message.requests);
      break;
    case "metrics":
      void registry.getMetricsAsJSON().then((values) => say({ say: "metrics", values }));
      break;
    case "stop":
      void stop();
      break;
  }
});
