import { randomFillSync } from "node:crypto";

const tokenBytes = 16;
const pool = Buffer.allocUnsafe(tokenBytes * 256);
let offset = pool.length;

/** The secret of one claim: 128 random bits as 32 lower-case hex characters. */
export function newClaimToken(): string {
  if (offset === pool.length) {
    randomFillSync(pool);
    offset = 0;
  }
  const token = pool.toString("hex", offset, offset + tokenBytes);
  offset += tokenBytes;
  return token;
}
