import type { ClaimOutcome, ClaimRequest } from "./claimMessages.ts";

/** A claim that waits up to `waitMs` if there is no message (long poll). */
export interface WaitingClaim extends ClaimRequest {
  waitMs: number;
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
}

export interface WaitersDeps {
  claim: (request: ClaimRequest) => Promise<ClaimOutcome>;
  /** Releases a claim whose client has disconnected. */
  undo: (request: ClaimRequest, outcome: ClaimOutcome) => void;
}

/** The most waiting requests of one mailbox that claim at the same time when the mailbox is woken. */
const maxAsking = 32;
/** The most retries while other transactions have the messages locked; after them the request waits for the next wake. */
const maxBusyRetries = 20;
const busyDelayMs = 20;
const maxTimerMs = 2 ** 31 - 1;

const nothing: ClaimOutcome = { kind: "empty", retryInMs: null, remaining: { ready: 0, claimed: 0 } };

/** A mailbox for which a claim is in flight or waits. */
interface Box {
  id: string;
  /** The number of wakes, so that a wake during a claim is not missed. */
  wakes: number;
  /** Number of requests in `claim`. */
  users: number;
  waiting: Waiter[];
  isPumping: boolean;
  timer: NodeJS.Timeout | undefined;
}

interface Waiter {
  request: WaitingClaim;
  isAsking: boolean;
  /** Whether its time is up or its client gone: the waiter takes the result of a claim in flight and makes no other claim. */
  isOver: boolean;
  settle: (outcome: ClaimOutcome) => void;
  fail: (error: Error) => void;
}

/**
 * The long polls of one node, in memory. A long poll makes no query until its mailbox is woken. Long polls of one mailbox are
 * served in the order of their requests.
 */
export class Waiters {
  readonly #deps: WaitersDeps;
  readonly #boxes = new Map<string, Box>();
  #count = 0;
  #isStopped = false;

  constructor(deps: WaitersDeps) {
    this.#deps = deps;
  }

  /**
   * Claims at once, or as soon as a message becomes claimable within `waitMs`; otherwise the outcome is empty. Claims nothing for
   * a request whose `signal` has aborted.
   */
  claim(request: WaitingClaim): Promise<ClaimOutcome> {
    return request.waitMs === 0 ? this.#ask(request) : this.#askOrWait(request);
  }

  async #askOrWait(request: WaitingClaim): Promise<ClaimOutcome> {
    const box = this.#enter(request.mailboxId);
    try {
      const { wakes } = box;
      const outcome = await this.#ask(request);
      if (outcome.kind !== "empty" || this.#isStopped || request.signal.aborted) return outcome;
      const waited = this.#wait(box, request);
      if (box.wakes === wakes) this.#wakeLater(box, outcome.retryInMs);
      else void this.#pump(box);
      return await waited;
    } finally {
      this.#leave(box);
    }
  }

  /** Wakes the long polls of these mailboxes, because messages may have become claimable. */
  wake(mailboxIds: Iterable<string>): void {
    for (const id of mailboxIds) {
      const box = this.#boxes.get(id);
      if (box !== undefined) this.#wakeBox(box);
    }
  }

  /** The mailboxes with waiting long polls. */
  mailboxIds(): string[] {
    return [...this.#boxes.values()].filter((box) => box.waiting.length > 0).map((box) => box.id);
  }

  /** The number of waiting requests. */
  count(): number {
    return this.#count;
  }

  /** Ends all waiting: requests that wait are answered empty, and later requests do not wait. */
  stop(): void {
    this.#isStopped = true;
    for (const box of this.#boxes.values()) {
      for (const waiter of box.waiting.slice()) giveUp(waiter);
    }
  }

  #enter(id: string): Box {
    let box = this.#boxes.get(id);
    if (box === undefined) {
      box = { id, wakes: 0, users: 0, waiting: [], isPumping: false, timer: undefined };
      this.#boxes.set(id, box);
    }
    box.users++;
    return box;
  }

  #leave(box: Box): void {
    if (--box.users > 0) return;
    clearTimeout(box.timer);
    this.#boxes.delete(box.id);
  }

  /** Claims once; retries at once while other transactions have the messages locked. */
  async #ask(request: WaitingClaim): Promise<ClaimOutcome> {
    for (let tries = 0; ; tries++) {
      if (request.signal.aborted) return nothing;
      const outcome = await this.#deps.claim(request);
      if (request.signal.aborted) this.#deps.undo(request, outcome);
      const isBusy = outcome.kind === "empty" && outcome.retryInMs === 0;
      if (!isBusy || tries === maxBusyRetries) return outcome;
    }
  }

  #wait(box: Box, request: WaitingClaim): Promise<ClaimOutcome> {
    return new Promise((resolve, reject) => {
      const onOver = (): void => giveUp(waiter);
      const timer = setTimeout(onOver, request.waitMs);
      const leave = (): void => {
        clearTimeout(timer);
        request.signal.removeEventListener("abort", onOver);
        box.waiting.splice(box.waiting.indexOf(waiter), 1);
        this.#count--;
      };
      const waiter: Waiter = {
        request,
        isAsking: false,
        isOver: false,
        settle(outcome) {
          leave();
          resolve(outcome);
        },
        fail(error) {
          leave();
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      };
      request.signal.addEventListener("abort", onOver);
      box.waiting.push(waiter);
      this.#count++;
    });
  }

  #wakeBox(box: Box): void {
    box.wakes++;
    void this.#pump(box);
  }

  /** Sets a timer that wakes the mailbox when a lease or delay ends, so that no query is needed until then. */
  #wakeLater(box: Box, afterMs: number | null): void {
    if (afterMs === null) return;
    const delayMs = afterMs === 0 ? busyDelayMs : Math.min(afterMs + 1, maxTimerMs);
    clearTimeout(box.timer);
    box.timer = setTimeout(() => this.#wakeBox(box), delayMs);
  }

  /** Serves waiting requests in order until a claim finds no message. */
  async #pump(box: Box): Promise<void> {
    if (box.isPumping) return;
    box.isPumping = true;
    for (let isMore = true; isMore && box.waiting.length > 0;) {
      const { wakes } = box;
      const asking = box.waiting.slice(0, maxAsking);
      for (const waiter of asking) waiter.isAsking = true;
      const served = await Promise.all(asking.map((waiter) => this.#serve(box, waiter)));
      isMore = served.every(Boolean) || box.wakes !== wakes;
    }
    box.isPumping = false;
  }

  /** Claims for a waiting request. @returns whether the request was answered. */
  async #serve(box: Box, waiter: Waiter): Promise<boolean> {
    try {
      const outcome = await this.#ask(waiter.request);
      waiter.isAsking = false;
      if (outcome.kind === "empty") {
        this.#wakeLater(box, outcome.retryInMs);
        if (!waiter.isOver && !this.#isStopped) return false;
      }
      waiter.settle(outcome);
    } catch (error) {
      waiter.fail(error as Error);
    }
    return true;
  }
}

function giveUp(waiter: Waiter): void {
  waiter.isOver = true;
  if (!waiter.isAsking) waiter.settle(nothing);
}
