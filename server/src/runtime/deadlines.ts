/** Something that must end in time. Its owner removes it when it has ended by itself. */
export interface Expiring {
  readonly timeoutMs: number;
  expire(): void;
  /** Where it stands among the others; written by {@link Deadlines}, null while it is not in there. */
  place: DeadlinePlace | null;
}

export interface Deadlines {
  add(item: Expiring): void;
  /** Nothing happens to an item that has expired, or was never added. */
  remove(item: Expiring): void;
}

/** A link of a queue; the queue's own link holds no item and closes the ring. */
export interface DeadlinePlace {
  item: Expiring | null;
  /** On the clock of `performance.now()`. */
  expiresAtMs: number;
  earlier: DeadlinePlace;
  later: DeadlinePlace;
}

/** An item expires up to this much late. */
const tickMs = 50;

/**
 * One coarse timer for all requests, instead of one each: items of equal timeout expire in the order they came, so a
 * tick looks only at the oldest of each length. The timer runs only while something waits, so an idle process sleeps.
 *
 * The queues are linked lists because the tables of a Set or Map refer to those that replaced them: an old one that
 * nothing else holds keeps all that came and went since alive until the next full collection of garbage. That made
 * the small collections, between two items, four times as long.
 */
export function createDeadlines(): Deadlines {
  const queues = new Map<number, DeadlinePlace>();
  let isTicking = false;

  function tick(): void {
    const nowMs = performance.now();
    isTicking = false;
    for (const queue of queues.values()) {
      while (queue.later.item !== null && queue.later.expiresAtMs <= nowMs) {
        const { item } = queue.later;
        unlink(item);
        item.expire();
      }
      if (queue.later.item !== null) startTicking();
    }
  }

  function startTicking(): void {
    if (isTicking) return;
    isTicking = true;
    setTimeout(tick, tickMs);
  }

  return {
    add(item) {
      let queue = queues.get(item.timeoutMs);
      if (queue === undefined) {
        queue = emptyQueue();
        queues.set(item.timeoutMs, queue);
      }
      const place = {
        item,
        expiresAtMs: performance.now() + item.timeoutMs,
        earlier: queue.earlier,
        later: queue,
      };
      queue.earlier.later = place;
      queue.earlier = place;
      item.place = place;
      startTicking();
    },
    remove: unlink,
  };
}

function emptyQueue(): DeadlinePlace {
  const queue = { item: null, expiresAtMs: 0 } as DeadlinePlace;
  queue.earlier = queue;
  queue.later = queue;
  return queue;
}

/** Leaves the link pointing at nothing but itself, so that no link keeps another alive. */
function unlink(item: Expiring): void {
  const { place } = item;
  if (place === null) return;
  place.earlier.later = place.later;
  place.later.earlier = place.earlier;
  place.earlier = place;
  place.later = place;
  place.item = null;
  item.place = null;
}
