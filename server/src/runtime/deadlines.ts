/** An operation with a time limit. Its owner removes it if it ends before the limit. */
export interface Expiring {
  readonly timeoutMs: number;
  expire(): void;
  /** Link in a queue of {@link Deadlines}, set only by that queue; null if the item is in no queue. */
  link: DeadlineLink | null;
}

export type Deadlines = ReturnType<typeof createDeadlines>;

/** A link of a queue, which is a ring. The queue's own link has no item. */
export interface DeadlineLink {
  item: Expiring | null;
  /** On the clock of `performance.now()`. */
  expiresAtMs: number;
  earlier: DeadlineLink;
  later: DeadlineLink;
}

/** How late an item may expire at most. */
const tickMs = 50;

/**
 * One coarse timer for all requests instead of one per request. Items with the same timeout expire in the order in which they
 * were added, so a tick checks only the oldest item of each timeout. The timer runs only while items wait, so an idle process
 * sleeps.
 *
 * Uses intrusive linked lists instead of a Set or Map. V8's old hash tables point to the tables that replaced them, so an
 * outgrown table in the old generation keeps all later entries alive until the next major collection. That made minor
 * collections four times as long.
 */
export function createDeadlines() {
  const queues = new Map<number, DeadlineLink>();
  let isTicking = false;

  function tick(): void {
    const nowMs = performance.now();
    isTicking = false;
    for (const [timeoutMs, queue] of queues) {
      while (queue.later.item !== null && queue.later.expiresAtMs <= nowMs) {
        const { item } = queue.later;
        unlink(item);
        item.expire();
      }
      if (queue.later.item !== null) startTicking();
      // The timeout may have been the remainder of another one and may never occur again.
      else queues.delete(timeoutMs);
    }
  }

  function startTicking(): void {
    if (isTicking) return;
    isTicking = true;
    setTimeout(tick, tickMs);
  }

  return {
    add(item: Expiring): void {
      let queue = queues.get(item.timeoutMs);
      if (queue === undefined) {
        queue = emptyQueue();
        queues.set(item.timeoutMs, queue);
      }
      const link = {
        item,
        expiresAtMs: performance.now() + item.timeoutMs,
        earlier: queue.earlier,
        later: queue,
      };
      queue.earlier.later = link;
      queue.earlier = link;
      item.link = link;
      startTicking();
    },
    /** Does nothing if the item has expired or was never added. */
    remove: unlink,
  };
}

function emptyQueue(): DeadlineLink {
  const queue = { item: null, expiresAtMs: 0 } as DeadlineLink;
  queue.earlier = queue;
  queue.later = queue;
  return queue;
}

/** Removes an item's link. The link then points only to itself, so that no link keeps another alive. */
function unlink(item: Expiring): void {
  const { link } = item;
  if (link === null) return;
  link.earlier.later = link.later;
  link.later.earlier = link.earlier;
  link.earlier = link;
  link.later = link;
  link.item = null;
  item.link = null;
}
