/** Something that can stand in one {@link Queue} at a time. The queue writes both; they are null outside one. */
export interface Queued<T> {
  ahead: T | null;
  behind: T | null;
}

/**
 * Things in the order they came, linked through themselves: what comes and goes with each request makes no garbage and
 * leaves no outgrown tables behind, as it would in a Set (see `createDeadlines`).
 */
export interface Queue<T extends Queued<T>> {
  first: T | null;
  last: T | null;
  length: number;
}

export function createQueue<T extends Queued<T>>(): Queue<T> {
  return { first: null, last: null, length: 0 };
}

/** Puts an item that stands in no queue behind all others. */
export function join<T extends Queued<T>>(queue: Queue<T>, item: T): void {
  item.ahead = queue.last;
  if (queue.last === null) queue.first = item;
  else queue.last.behind = item;
  queue.last = item;
  queue.length++;
}

/** Takes an item out from wherever it stands; nothing happens to one that is in no queue. */
export function leave<T extends Queued<T>>(queue: Queue<T>, item: T): void {
  const { ahead, behind } = item;
  if (ahead === null && queue.first !== item) return;
  if (ahead === null) queue.first = behind;
  else ahead.behind = behind;
  if (behind === null) queue.last = ahead;
  else behind.ahead = ahead;
  item.ahead = null;
  item.behind = null;
  queue.length--;
}

/** Takes out the first. */
export function takeFirst<T extends Queued<T>>(queue: Queue<T>): T | null {
  const { first } = queue;
  if (first !== null) leave(queue, first);
  return first;
}
