/** Something that must end in time. Its owner removes it when it has ended by itself. */
export interface Expiring {
  readonly timeoutMs: number;
  /** Written by {@link Deadlines.add}, on the clock of `performance.now()`. */
  expiresAtMs: number;
  expire(): void;
}

export interface Deadlines {
  add(item: Expiring): void;
  remove(item: Expiring): void;
}

/** An item expires up to this much late. */
const tickMs = 50;

/**
 * One coarse timer for all requests, instead of one each: items of equal timeout expire in the order they came, so a
 * tick looks only at the oldest of each length. Adding and removing are one Set operation. The timer
 * runs only while something waits, so an idle process sleeps.
 */
export function createDeadlines(): Deadlines {
  const queues = new Map<number, Set<Expiring>>();
  let ticking = false;

  function tick(): void {
    const nowMs = performance.now();
    for (const [timeoutMs, queue] of queues) {
      for (const item of queue) {
        if (item.expiresAtMs > nowMs) {
          break;
        }
        queue.delete(item);
        item.expire();
      }
      if (queue.size === 0) {
        queues.delete(timeoutMs);
      }
    }
    ticking = queues.size > 0;
    if (ticking) {
      setTimeout(tick, tickMs);
    }
  }

  return {
    add(item) {
      item.expiresAtMs = performance.now() + item.timeoutMs;
      let queue = queues.get(item.timeoutMs);
      if (queue === undefined) {
        queue = new Set();
        queues.set(item.timeoutMs, queue);
      }
      queue.add(item);
      if (!ticking) {
        ticking = true;
        setTimeout(tick, tickMs);
      }
    },
    remove(item) {
      queues.get(item.timeoutMs)?.delete(item);
    },
  };
}
