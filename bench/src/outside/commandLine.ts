import { parseArgs } from "node:util";
import type { TrafficOptions } from "./mailboxTraffic.ts";
import type { OutsideOptions } from "./outside.ts";

const numbers = {
  "receiver-port": "9400",
  connections: "64",
  seconds: "10",
  rate: "100",
  "data-bytes": "400",
  "patience-seconds": "15",
  "fan-out": "1",
  "neighbour-events": "2000",
  "kill-after": "0",
  producers: "32",
  consumers: "32",
} as const;
type NumberName = keyof typeof numbers;

/** A measurement of deliveries, or of a mailbox whose messages are put and claimed at the same time. */
export type Outside = { deliveries: OutsideOptions } | { mailbox: TrafficOptions; watch: readonly string[] };

/**
 * Reads the arguments of `npm run bench:outside`.
 * @throws an error that names the option which is missing or wrong.
 */
export function outsideOptions(args: readonly string[]): Outside {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "base-url": { type: "string" },
      path: { type: "string" },
      method: { type: "string", default: "POST" },
      header: { type: "string", multiple: true, default: [] },
      body: { type: "string", default: '{"id":"{{id}}","data":"{{data}}"}' },
      "receiver-host": { type: "string", default: "127.0.0.1" },
      watch: { type: "string", multiple: true, default: [] },
      "neighbour-path": { type: "string" },
      "neighbour-header": { type: "string", multiple: true },
      "neighbour-body": { type: "string" },
      mailbox: { type: "string" },
      kill: { type: "string", multiple: true, default: [] },
      restart: { type: "string" },
      "in-node": { type: "boolean", default: false },
      ...(Object.fromEntries(
        Object.entries(numbers).map(([name, value]) => [name, { type: "string", default: value }]),
      ) as Record<NumberName, { type: "string"; default: string }>),
    },
  });
  const base = values["base-url"];
  const { path, body, header: headers, method, kill, restart, mailbox, watch } = values;
  const integer = (name: NumberName): number => {
    if (!/^\d{1,6}$/.test(values[name])) throw new Error(`--${name} is not a number: ${values[name]}`);
    return Number(values[name]);
  };
  const shared = {
    durationMs: integer("seconds") * 1_000,
    dataBytes: integer("data-bytes"),
    patienceMs: integer("patience-seconds") * 1_000,
    isInNode: values["in-node"],
  };
  if (base !== undefined && mailbox !== undefined) {
    const counts = { producers: integer("producers"), consumers: integer("consumers") };
    // Calls to a mailbox already have a content-type, and the service refuses a second one.
    const others = headers.filter((line) => !/^content-type:/i.test(line));
    return { mailbox: { ...shared, ...counts, baseUrl: base, mailboxId: mailbox, headers: others }, watch };
  }
  if (base === undefined || path === undefined) throw new Error("bench:outside needs --base-url and --path");
  if (!body.includes("{{id}}"))
    throw new Error("--body must contain {{id}}, which identifies the event when it arrives");
  if (kill.length > 0 !== (restart !== undefined)) throw new Error("--kill and --restart need each other");
  const neighbourPath = values["neighbour-path"];
  const deliveries: OutsideOptions = {
    ...shared,
    call: { url: new URL(path, base).href, method, headers, body },
    receiver: { host: values["receiver-host"], port: integer("receiver-port") },
    connections: integer("connections"),
    rate: integer("rate"),
    fanOut: integer("fan-out"),
    watch,
    ...(neighbourPath !== undefined && {
      neighbour: {
        call: {
          url: new URL(neighbourPath, base).href,
          method,
          headers: values["neighbour-header"] ?? headers,
          body: values["neighbour-body"] ?? body,
        },
        events: integer("neighbour-events"),
      },
    }),
    ...(restart !== undefined && {
      kill: { afterMs: integer("kill-after") * 1_000, processes: kill, restart },
    }),
  };
  return { deliveries };
}
