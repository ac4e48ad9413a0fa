import { parseArgs } from "node:util";
import type { OutsideOptions } from "./outside.ts";

/**
 * Reads the arguments of `npm run bench:outside`.
 * @throws a sentence that names the option which is missing or wrong.
 */
export function outsideOptions(args: readonly string[]): OutsideOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      "base-url": { type: "string" },
      path: { type: "string" },
      method: { type: "string", default: "POST" },
      header: { type: "string", multiple: true, default: [] },
      body: { type: "string", default: '{"id":"{{id}}","data":"{{data}}"}' },
      "receiver-host": { type: "string", default: "127.0.0.1" },
      "receiver-port": { type: "string", default: "9400" },
      connections: { type: "string", default: "64" },
      seconds: { type: "string", default: "10" },
      rate: { type: "string", default: "100" },
      "data-bytes": { type: "string", default: "400" },
      "patience-seconds": { type: "string", default: "15" },
    },
  });
  const base = values["base-url"];
  const { path } = values;
  if (base === undefined || path === undefined) throw new Error("bench:outside needs --base-url and --path");
  if (!values.body.includes("{{id}}"))
    throw new Error("--body has no {{id}}, by which an event is known when it arrives");
  const integer = (
    name: "receiver-port" | "connections" | "seconds" | "rate" | "data-bytes" | "patience-seconds",
  ): number => {
    if (!/^\d{1,6}$/.test(values[name])) throw new Error(`--${name} is not a number: ${values[name]}`);
    return Number(values[name]);
  };
  return {
    call: {
      url: new URL(path, base),
      method: values.method,
      headers: values.header,
      body: values.body,
    },
    receiver: { host: values["receiver-host"], port: integer("receiver-port") },
    connections: integer("connections"),
    durationMs: integer("seconds") * 1_000,
    rate: integer("rate"),
    dataBytes: integer("data-bytes"),
    patienceMs: integer("patience-seconds") * 1_000,
  };
}
