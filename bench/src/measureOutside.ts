import { printTable } from "./figures.ts";
import { type Outside, outsideOptions } from "./outside/commandLine.ts";
import { mailboxTrafficFigures } from "./outside/mailboxTraffic.ts";
import { outsideFigures } from "./outside/outside.ts";

const usage = `Measures a service that accepts events over HTTP and posts them to a destination. Exits with 1 if an event was lost.

npm run bench:outside -- --base-url URL --path PATH [--method POST] [--header 'name: value']... [--body TEMPLATE]
  [--receiver-host 127.0.0.1] [--receiver-port 9400] [--connections 64] [--seconds 10] [--rate 100] [--data-bytes 400]
  [--patience-seconds 15] [--fan-out 1] [--watch PID|:PORT]... [--in-node]
  [--neighbour-path PATH [--neighbour-header 'name: value']... [--neighbour-body TEMPLATE] [--neighbour-events 2000]]
  [--kill PID|:PORT]... [--kill-after SECONDS] [--restart COMMAND]

Or puts messages into a mailbox of Postrider, and claims and acknowledges them at the same time:

npm run bench:outside -- --base-url URL --header 'authorization: Bearer KEY' --mailbox TARGET_ID [--producers 32] [--consumers 32]
  [--seconds 10] [--data-bytes 400] [--patience-seconds 15] [--watch PID|:PORT]... [--in-node]

--body must contain {{id}}, which identifies the event when it arrives, and may contain {{data}}. docs/comparison.md explains all options.
`;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const args = process.argv.slice(2);
if (args.includes("--help")) process.stdout.write(usage);
else {
  const outside = readOptions();
  if (outside !== undefined) await measure(outside);
}

/** Reads the options; if they are invalid, prints why and returns undefined. */
function readOptions(): Outside | undefined {
  try {
    return outsideOptions(args);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\nnpm run bench:outside -- --help shows all options.\n`);
    process.exitCode = 2;
    return undefined;
  }
}

async function measure(outside: Outside): Promise<void> {
  const figures =
    "mailbox" in outside
      ? await mailboxTrafficFigures(outside.mailbox, outside.watch)
      : await outsideFigures(outside.deliveries);
  printTable(figures);
  process.exitCode = figures.every((figure) => figure.isMet !== false) ? 0 : 1;
}
