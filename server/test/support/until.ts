import { setTimeout as delay } from "node:timers/promises";

/** Polls until `read` gives what is wanted, or anything true; fails after `limitMs` with what was seen last. */
export async function until<T>(
  read: () => T | Promise<T>,
  isWanted: (value: T) => boolean = Boolean,
  limitMs: number = 30_000,
): Promise<T> {
  const deadline = Date.now() + limitMs;
  for (;;) {
    const value = await read();
    if (isWanted(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`not within ${limitMs} ms, last seen: ${JSON.stringify(value)}`);
    await delay(20);
  }
}
