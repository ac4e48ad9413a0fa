import { randomBytes } from "node:crypto";
import { postHead } from "../load.ts";
import type { FiguresSize } from "./record.ts";

/** The posts of a turn: one body, to the targets in turn. */
export interface Load {
  payloadBytes: number;
  body: Buffer;
  /** The most items that a turn posts. */
  maxItems: number;
}

/** A body of this size that compresses as little as ids and texts do. */
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

/** Makes the n-th request of a turn. Requests are concatenated when they are sent: for 1,000 targets they would take 100 MB. */
export function requestsTo(key: string, targets: readonly string[], { body }: Load): (n: number) => Buffer {
  const headers = [`authorization: Bearer ${key}`];
  const heads = targets.map((target) => Buffer.from(postHead(`/t/${target}`, headers, body.length)));
  return (n) => Buffer.concat([heads[n % heads.length]!, body]);
}
