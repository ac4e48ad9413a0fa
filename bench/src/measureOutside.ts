import { printTable } from "./figures.ts";
import { outsideOptions } from "./outside/commandLine.ts";
import { mailboxTrafficFigures } from "./outside/mailboxTraffic.ts";
import { outsideFigures } from "./outside/outside.ts";

/*
 * npm run bench:outside -- --base-url URL --path PATH [--method POST] [--header 'name: value']... [--body TEMPLATE]
 *   [--receiver-host 127.0.0.1] [--receiver-port 9400] [--connections 64] [--seconds 10] [--rate 100] [--data-bytes 400]
 *   [--patience-seconds 15] [--fan-out 1] [--watch PID|:PORT]... [--in-node]
 *   [--neighbour-path PATH [--neighbour-header 'name: value']... [--neighbour-body TEMPLATE] [--neighbour-events 2000]]
 *   [--kill PID|:PORT]... [--kill-after SECONDS] [--restart COMMAND]
 * Measures any service that accepts events over HTTP and posts them to a destination. Exits with 1 if an event was lost.
 *
 * npm run bench:outside -- --base-url URL --header 'authorization: Bearer KEY' --mailbox TARGET_ID [--producers 32] [--consumers 32]
 *   [--seconds 10] [--data-bytes 400] [--patience-seconds 15] [--watch PID|:PORT]... [--in-node]
 * Puts messages into a mailbox and claims and acknowledges them at the same time.
 */
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const outside = outsideOptions(process.argv.slice(2));
const figures =
  "mailbox" in outside
    ? await mailboxTrafficFigures(outside.mailbox, outside.watch)
    : await outsideFigures(outside.deliveries);
printTable(figures);
process.exitCode = figures.every((figure) => figure.isMet !== false) ? 0 : 1;
