import { randomBytes } from "node:crypto";
import { postHead } from "../load.ts";
import type { FiguresSize } from "./record.ts";

/** The posts of one turn: the same body to each target in rotation. */
export interface Load {
  payloadBytes: number;
  body: Buffer;
  /** Maximum number of items that a turn posts. */
  maxItems: number;
}

/** A body of this size that compresses as little as the ids and texts of real items. */
export function loadOf(payloadBytes: number, size: FiguresSize): Load {
  const frame = JSON.stringify({ event_type: "order.created", data: "" });
  const bytes = payloadBytes - frame.length;
  const data = randomBytes(bytes).toString("base64").slice(0, bytes);
  return {
    payloadBytes,
    body: Buffer.from(JSON.stringify({ event_type: "order.created", data })),
    maxItems: Math.min(size.maxItems, Math.floor(size.maxBytes / payloadBytes)),
  };
}

/** Returns a function that makes the n-th request when it is sent: prepared requests for 1,000 targets would take 100 MB. */
export function requestsTo(key: string, targets: readonly string[], { body }: Load): (n: number) => Buffer {
  const headers = [`authorization: Bearer ${key}`];
  const heads = targets.map((target) => Buffer.from(postHead(`/t/${target}`, headers, body.length)));
  return (n) => Buffer.concat([heads[n % heads.length]!, body]);
}
