import { randomBytes } from "node:crypto";

let prefix = randomBytes(6).toString("hex");
let counter = 0;

/** An id for one request: unique across processes, cheap enough for the hot path. 20 hex characters. */
export function newRequestId(): string {
  counter++;
  if (counter === 0xffff_ffff) {
    prefix = randomBytes(6).toString("hex");
    counter = 0;
  }
  return prefix + counter.toString(16).padStart(8, "0");
}
