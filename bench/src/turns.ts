import type { Socket } from "node:net";

export interface TurnTaken {
  /** The turn's duration in milliseconds. */
  ms: number;
  /** Number of requests that were waiting when the turn began. */
  waiting: number;
}

/** Lets the sides of a comparison send in turns: the requests of one side are answered while those of the others wait. */
export interface Turns {
  /** Whether a request of the side may be answered now; if not, it is answered in the side's next turn. */
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
      // Clients may have disconnected while they waited.
      const sockets = (waiting.get(side) ?? []).filter((socket) => !socket.destroyed);
      waiting.delete(side);
      present = { side, left: count, startedAtMs: performance.now(), waiting: sockets.length, ended };
      for (const socket of sockets) if (has(side, socket)) answer(socket);
    },
  };
}
