import { setTimeout as delay } from "node:timers/promises";

/**
 * The interval between polls grows from the first to the last value: most waits are short, and long ones leave the
 * CPU to other processes.
 */
const pollsMs = { first: 5, last: 50 };

/**
 * Polls until `isWanted` accepts the value of `read`, by default a truthy one; fails after `limitMs` with the last
 * value.
 */
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
