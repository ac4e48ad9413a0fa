import { setTimeout as delay } from "node:timers/promises";

/** Polls grow rarer from the first to the last of these: most waits are short, and the long ones leave the processor to others. */
const pollsMs = { first: 5, last: 50 };

/** Polls until `read` gives what is wanted, or anything true; fails after `limitMs` with what was seen last. */
export async function until<T>(
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean = Boolean,
  limitMs: number = 60_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (let pauseMs = pollsMs.first; ; pauseMs = Math.min(pauseMs * 1.5, pollsMs.last)) {
    const value = await read();
    if (isWanted(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`not within ${limitMs} ms, last seen: ${JSON.stringify(value)}`);
    await delay(pauseMs);
  }
}
