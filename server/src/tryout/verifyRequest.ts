import { timingSafeEqual } from "node:crypto";
import { sign } from "../items/signature.ts";

/** How far a receiver lets the sender's clock be off (Standard Webhooks, "Verifying webhook authenticity"). */
const toleranceSeconds = 300;

/** A request's headers by their lower-case names. */
export type RequestHeaders = ReadonlyMap<string, string>;

/** Whether one of the keys signed the request, as a receiver of its own would find out. */
export function isSigned(
  keys: readonly Buffer[],
  { headers, body }: { headers: RequestHeaders; body: Buffer },
  nowMs: number,
): boolean {
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (id === undefined || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) return false;
  const presented = (headers.get("webhook-signature") ?? "").split(" ").map((one) => Buffer.from(one));
  return keys.some((key) => {
    const expected = Buffer.from(sign([key], id, Number(timestamp), body));
    return presented.some((one) => one.length === expected.length && timingSafeEqual(one, expected));
  });
}

/** Headers as the outbound client takes them, names and values in turn, as pairs. */
export function headerPairs(flat: readonly string[]): (readonly [name: string, value: string])[] {
  return Array.from({ length: flat.length >> 1 }, (_, index) => [flat[index * 2]!, flat[index * 2 + 1]!]);
}
