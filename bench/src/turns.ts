import type { Socket } from "node:net";

/** A turn that has ended. */
export interface TurnTaken {
  /** How long it took. */
  ms: number;
  /** How many requests had come before it began. */
  waiting: number;
}

/** Lets sides that are compared send by turns: one is answered while the others wait, each with what it has under way. */
export interface Turns {
  /** Whether a request of the side may be answered; when not, it is answered in the side's next turn. */
  has(side: number, socket: Socket): boolean;
  /** Begins a turn of `count` answers. */
  begin(side: number, count: number, ended: (turn: TurnTaken) => void): void;
}

export function createTurns(answer: (socket: Socket) => void): Turns {
  const waiting = new Map<number, Socket[]>();
  let present = {
    side: -1,
    left: 0,
    startedAtMs: 0,
    waiting: 0,
    ended: (_turn: TurnTaken): void => undefined,
  };

  function has(side: number, socket: Socket): boolean {
    if (side !== present.side || present.left === 0) {
      const sockets = waiting.get(side);
      if (sockets === undefined) waiting.set(side, [socket]);
      else sockets.push(socket);
      return false;
    }
    if (--present.left === 0) {
      const { startedAtMs, waiting: before, ended } = present;
      ended({ ms: performance.now() - startedAtMs, waiting: before });
    }
    return true;
  }

  return {
    has,
    begin(side, count, ended) {
      // A client may have ended while it waited.
      const sockets = (waiting.get(side) ?? []).filter((socket) => !socket.destroyed);
      waiting.delete(side);
      present = { side, left: count, startedAtMs: performance.now(), waiting: sockets.length, ended };
      for (const socket of sockets) if (has(side, socket)) answer(socket);
    },
  };
}
