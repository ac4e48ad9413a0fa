import { type Lane, setMaxWindow } from "./lane.ts";

/**
 * Lends a part of what a target may have under way to the thread that helps, while the target has a backlog that this
 * thread is too busy for. What is lent and what is kept never exceed the target's limit together.
 */
export interface Lending {
  /** Requests that are lent now, of all targets. */
  requests(): number;
  isLent(targetId: string): boolean;
  /** More is due for the target than was claimed. @param share How many requests it may have under way now. */
  offer(lane: Lane, share: number): void;
  /** A request to the lane's target has ended. */
  ended(lane: Lane): void;
}

/** The other thread, as far as lending goes. */
export interface HelpingThread {
  isAvailable(): boolean;
  /** Lets it send to the target, with so many requests under way; `ended` is called once, when it does so no more. */
  help(targetId: string, requests: number, ended: () => void): void;
}

interface Loan {
  lane: Lane;
  requests: number;
  /** Waits until the requests that are lent have ended here. */
  isWaiting: boolean;
}

/** The most loans at once: each costs both threads some work, and with many targets a few loans balance the load. */
const maxLoans = 64;

/** What came back is not lent again for so long: the thread may have failed at it. */
const pauseMs = 1_000;

export interface LendingDeps {
  thread: HelpingThread;
  /** Whether this thread has had little time to spare since it was last asked. */
  isBusy: () => boolean;
  /** Called with each loan. */
  onLent: () => void;
  /** The monotonic clock, in milliseconds. */
  nowMs: () => number;
}

export function createLending({ thread, isBusy, onLent, nowMs }: LendingDeps): Lending {
  const loans = new Map<string, Loan>();
  let lent = 0;
  let waiting = 0;

  function begin(loan: Loan): void {
    if (loan.lane.inFlight > loan.lane.maxWindow) return;
    loan.isWaiting = false;
    waiting--;
    thread.help(loan.lane.targetId, loan.requests, () => takeBack(loan));
  }

  function takeBack({ lane, requests }: Loan): void {
    loans.delete(lane.targetId);
    lent -= requests;
    if (lane.org !== undefined) lane.org.lent -= requests;
    lane.lendableAtMs = nowMs() + pauseMs;
    setMaxWindow(lane, lane.maxWindow + requests);
  }

  return {
    requests: () => lent,
    isLent: (targetId) => loans.has(targetId),
    offer(lane, share) {
      const takesEverything = lane.window === lane.maxWindow && lane.failures === 0;
      const requests = Math.floor(Math.min(lane.maxWindow, share) / 2);
      if (!takesEverything || requests === 0 || loans.has(lane.targetId)) return;
      if (loans.size >= maxLoans || nowMs() < lane.lendableAtMs || !isBusy() || !thread.isAvailable()) return;
      const loan = { lane, requests, isWaiting: true };
      loans.set(lane.targetId, loan);
      lent += requests;
      if (lane.org !== undefined) lane.org.lent += requests;
      waiting++;
      setMaxWindow(lane, lane.maxWindow - requests);
      onLent();
      begin(loan);
    },
    ended(lane) {
      if (waiting === 0) return;
      const loan = loans.get(lane.targetId);
      if (loan?.isWaiting) begin(loan);
    },
  };
}

/** Event loop utilization below which a second thread is not worth its cost. */
const busyPart = 0.5;
/** The shortest time to measure it over. */
const measureMs = 5;

/**
 * Measures this thread's event loop utilization since the last call.
 * @param read how long the event loop has been idle and active so far, in milliseconds.
 */
export function createBusyMeter(
  read: () => { idle: number; active: number } = () => performance.eventLoopUtilization(),
): () => boolean {
  let last = read();
  let isBusy = false;
  return () => {
    const now = read();
    const [idle, active] = [now.idle - last.idle, now.active - last.active];
    if (idle + active < measureMs) return isBusy;
    last = now;
    isBusy = active / (idle + active) >= busyPart;
    return isBusy;
  };
}
