/** Something that must end in time. Its owner removes it when it has ended by itself. */
export interface Expiring {
  readonly timeoutMs: number;
  expire(): void;
  /** Its link in a queue of {@link Deadlines}, which alone writes it; null outside of one. */
  link: DeadlineLink | null;
}

export type Deadlines = ReturnType<typeof createDeadlines>;

/** A link of a queue; the queue's own link holds no item and closes the ring. */
export interface DeadlineLink {
  item: Expiring | null;
  /** On the clock of `performance.now()`. */
  expiresAtMs: number;
  earlier: DeadlineLink;
  later: DeadlineLink;
}

/** An item expires up to this much late. */
const tickMs = 50;

/**
 * One coarse timer for all requests, instead of one each: items of equal timeout expire in the order they came, so a
 * tick looks only at the oldest of each length. The timer runs only while something waits, so an idle process sleeps.
 *
 * Intrusive linked lists rather than a Set or Map: V8's hash tables point to the tables that replaced them, so an
 * outgrown one that has been promoted to the old generation keeps all later entries alive until the next major
 * collection. That made minor collections four times as long.
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
      // A timeout may be what was left of another one, and not come again.
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
    /** Nothing happens to an item that has expired, or was never added. */
    remove: unlink,
  };
}

function emptyQueue(): DeadlineLink {
  const queue = { item: null, expiresAtMs: 0 } as DeadlineLink;
  queue.earlier = queue;
  queue.later = queue;
  return queue;
}

/** Leaves the link pointing at nothing but itself, so that no link keeps another alive. */
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
