import { clock, type Lane } from "./lane.ts";

export interface PacingOptions {
  lanes: readonly Lane[];
  /** Calls per second; when undefined, nothing is sent. */
  rate: number | undefined;
  startsAtMs: number;
  /** The number of the next event; undefined when the phase is over. */
  take: () => number | undefined;
  /** Called with the number of an event that could not be sent, because no connection is open. */
  unsent: (number: number) => void;
}

/** A call up to this late counts as sent on time, because timers are late by that much. */
const timerSlackMs = 2;
const idleMs = 5;

/**
 * Sends each call at its due time on the next free connection. A call that is late because all connections are busy counts its
 * latency from the due time, so that a stall shows in every call that it delayed.
 */
export function createPacing({ lanes, rate, startsAtMs, take, unsent }: PacingOptions) {
  let dueAtMs = startsAtMs;
  let next = 0;

  function freeLane(): Lane | undefined {
    for (let tried = 0; tried < lanes.length; tried++) {
      const lane = lanes[next]!;
      next = (next + 1) % lanes.length;
      if (lane.isFree()) return lane;
    }
    return undefined;
  }

  return {
    /** Sends the calls that are due; returns the milliseconds until the next. */
    sendDue(): number {
      if (rate === undefined) return idleMs;
      for (; dueAtMs <= clock(); dueAtMs += 1_000 / rate) {
        const lane = freeLane();
        if (lane === undefined && lanes.some((one) => one.isOpen())) return 1;
        const number = take();
        if (number === undefined) return idleMs;
        const now = clock();
        if (lane === undefined) unsent(number);
        else lane.send(number, now - dueAtMs < timerSlackMs ? now : dueAtMs);
      }
      return dueAtMs - clock();
    },
  };
}
