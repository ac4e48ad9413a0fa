import type { ClaimOutcome, ClaimRequest } from "./claimMessages.ts";

/** A claim that waits for messages when there are none. */
export interface WaitingClaim extends ClaimRequest {
  waitMs: number;
  /** Aborts when nobody listens for the answer any more. */
  signal: AbortSignal;
}

/** Long polls, in memory: they cost nothing until their mailbox is woken. */
export interface Waiters {
  /**
   * Claims at once, or as soon as there is something within `waitMs`; else the outcome is empty. Claims nothing
   * for a request whose `signal` has aborted.
   */
  claim(request: WaitingClaim): Promise<ClaimOutcome>;
  /** Something may have become claimable in these mailboxes. */
  wake(mailboxIds: Iterable<string>): void;
  /** The mailboxes that somebody waits for. */
  mailboxIds(): string[];
  /** How many requests wait. */
  count(): number;
  /** Answers all who wait, now and from now on, with what there is. */
  stop(): void;
}

export interface WaitersDeps {
  claim: (request: ClaimRequest) => Promise<ClaimOutcome>;
  /** Takes back a claim whose requester is gone. */
  undo: (request: ClaimRequest, outcome: ClaimOutcome) => void;
}

/** How many requests of one mailbox ask at once when it is woken. */
const maxAsking = 32;
/** A message that another transaction holds for a moment is asked for again so often, then left to a later wake. */
const maxBusyRetries = 20;
const maxTimerMs = 2 ** 31 - 1;

const nothingLeft = { ready: 0, claimed: 0 };

interface Waiter {
  request: WaitingClaim;
  isAsking: boolean;
  /** Whether its time is up, or its requester gone. */
  isOver: boolean;
  timer: NodeJS.Timeout | undefined;
  settle: (outcome: ClaimOutcome | Promise<never>) => void;
}

interface Box {
  id: string;
  /** Counts the wakes, so that one that comes while a claim is under way is not missed. */
  wakes: number;
  users: number;
  waiting: Waiter[];
  isPumping: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** The waiters of one node. Those of a mailbox are served in the order of their requests. */
export function createWaiters(deps: WaitersDeps): Waiters {
  const boxes = new Map<string, Box>();
  let waiting = 0;
  let isStopped = false;

  function enter(id: string): Box {
    let box = boxes.get(id);
    if (box === undefined) {
      box = { id, wakes: 0, users: 0, waiting: [], isPumping: false, timer: undefined };
      boxes.set(id, box);
    }
    box.users++;
    return box;
  }

  function leave(box: Box): void {
    if (--box.users > 0) return;
    clearTimeout(box.timer);
    boxes.delete(box.id);
  }

  /** One try; busy messages are asked for again at once. */
  async function ask(request: WaitingClaim): Promise<ClaimOutcome> {
    for (let tries = 0; ; tries++) {
      if (request.signal.aborted) return { kind: "empty", retryInMs: null, remaining: nothingLeft };
      const outcome = await deps.claim(request);
      if (request.signal.aborted) deps.undo(request, outcome);
      if (outcome.kind !== "empty" || outcome.retryInMs !== 0 || tries === maxBusyRetries) return outcome;
    }
  }

  function wait(box: Box, request: WaitingClaim): Promise<ClaimOutcome> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        request,
        isAsking: false,
        isOver: false,
        timer: undefined,
        settle(outcome) {
          clearTimeout(waiter.timer);
          request.signal.removeEventListener("abort", giveUp);
          box.waiting.splice(box.waiting.indexOf(waiter), 1);
          waiting--;
          resolve(outcome);
        },
      };
      function giveUp(): void {
        waiter.isOver = true;
        // Under way to the database it may yet get something; it is settled when that is known.
        if (!waiter.isAsking) waiter.settle({ kind: "empty", retryInMs: null, remaining: nothingLeft });
      }
      waiter.timer = setTimeout(giveUp, request.waitMs);
      request.signal.addEventListener("abort", giveUp);
      box.waiting.push(waiter);
      waiting++;
    });
  }

  async function pump(box: Box): Promise<void> {
    if (box.isPumping || box.waiting.length === 0) return;
    box.isPumping = true;
    for (let isMore = true; isMore && box.waiting.length > 0;) {
      const wakes = box.wakes;
      const asking = box.waiting.slice(0, maxAsking);
      for (const waiter of asking) waiter.isAsking = true;
      const served = await Promise.all(asking.map((waiter) => serve(box, waiter)));
      isMore = served.every(Boolean) || box.wakes !== wakes;
    }
    box.isPumping = false;
  }

  /** Asks for one who waits; whether it no longer does. */
  async function serve(box: Box, waiter: Waiter): Promise<boolean> {
    try {
      const outcome = await ask(waiter.request);
      waiter.isAsking = false;
      if (outcome.kind === "empty") {
        wakeLater(box, outcome.retryInMs);
        if (!waiter.isOver && !isStopped) return false;
      }
      waiter.settle(outcome);
    } catch (error) {
      waiter.settle(Promise.reject(error as Error));
    }
    return true;
  }

  /** The end of a lease or delay wakes the mailbox without anybody asking the database in between. */
  function wakeLater(box: Box, afterMs: number | null): void {
    if (afterMs === null) return;
    clearTimeout(box.timer);
    box.timer = setTimeout(() => wakeBox(box), Math.min(afterMs + 1, maxTimerMs));
  }

  function wakeBox(box: Box): void {
    box.wakes++;
    void pump(box);
  }

  return {
    async claim(request) {
      const box = enter(request.mailboxId);
      try {
        for (;;) {
          const { wakes } = box;
          const outcome = await ask(request);
          if (outcome.kind !== "empty" || request.waitMs === 0 || isStopped || request.signal.aborted) {
            return outcome;
          }
          if (box.wakes !== wakes) continue;
          wakeLater(box, outcome.retryInMs);
          return await wait(box, request);
        }
      } finally {
        leave(box);
      }
    },
    wake(mailboxIds) {
      for (const id of mailboxIds) {
        const box = boxes.get(id);
        if (box !== undefined) wakeBox(box);
      }
    },
    mailboxIds: () => [...boxes.values()].filter((box) => box.waiting.length > 0).map((box) => box.id),
    count: () => waiting,
    stop() {
      isStopped = true;
      for (const box of boxes.values()) {
        for (const waiter of box.waiting.slice()) {
          waiter.isOver = true;
          if (!waiter.isAsking) waiter.settle({ kind: "empty", retryInMs: null, remaining: nothingLeft });
        }
      }
    },
  };
}
