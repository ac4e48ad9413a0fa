import type { Socket } from "node:net";

/** Lets sides that are compared send by turns: one is answered while the others wait, each with what it has under way. */
export interface Turns {
  /** Whether a request of the side may be answered; when not, it is answered in the side's next turn. */
  has(side: number, socket: Socket): boolean;
  /** Begins a turn of `count` answers and says how long it took, in milliseconds. */
  begin(side: number, count: number, ended: (ms: number) => void): void;
}

export function createTurns(answer: (socket: Socket) => void): Turns {
  const waiting = new Map<number, Socket[]>();
  let present = { side: -1, left: 0, startedAtMs: 0, ended: (_ms: number): void => undefined };

  function has(side: number, socket: Socket): boolean {
    if (side !== present.side || present.left === 0) {
      const sockets = waiting.get(side);
      if (sockets === undefined) waiting.set(side, [socket]);
      else sockets.push(socket);
      return false;
    }
    if (--present.left === 0) present.ended(performance.now() - present.startedAtMs);
    return true;
  }

  return {
    has,
    begin(side, count, ended) {
      present = { side, left: count, startedAtMs: performance.now(), ended };
      const sockets = waiting.get(side) ?? [];
      waiting.delete(side);
      for (const socket of sockets) {
        // Its client may have ended while it waited.
        if (!socket.destroyed && has(side, socket)) answer(socket);
      }
    },
  };
}
