import { randomBytes } from "node:crypto";
import { postHead } from "../load.ts";
import type { FiguresSize } from "./record.ts";

/** What is posted in a turn: one body, to targets in turn. */
export interface Load {
  payloadBytes: number;
  body: Buffer;
  /** The most items that a turn puts in. */
  maxItems: number;
}

/** A body of so many bytes that compresses as little as ids and texts do. */
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

/** The n-th request of a turn. Requests are put together as they are sent: of 1,000 targets they would be 100 MB. */
export function requestsTo(key: string, targets: readonly string[], { body }: Load): (n: number) => Buffer {
  const headers = [`authorization: Bearer ${key}`];
  const heads = targets.map((target) => Buffer.from(postHead(`/t/${target}`, headers, body.length)));
  return (n) => Buffer.concat([heads[n % heads.length]!, body]);
}
