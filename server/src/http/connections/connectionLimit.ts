import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Node drops connections right after accept when so many more than the limit are open (`server.maxConnections`). */
const spare = 64;
/** The most connections that are examined for one that can be ended. */
const maxLooks = 64;

export type ConnectionLimit = ReturnType<typeof limitConnections>;

/**
 * Bounds the connections of a server, and the share of one organization. Past `limit`, a new connection takes the place of the
 * one that has been quiet for the longest without ever having shown a valid key; where there is none, it is refused. So clients
 * that hold connections open and say nothing do not keep others out.
 * @param isBusy True if a request of the connection is being handled.
 */
export function limitConnections(
  server: Pick<Server, "maxConnections">,
  limit: number,
  isBusy: (socket: Socket) => boolean,
) {
  /** In the order in which they came. */
  const strangers = new Set<Socket>();
  const owners = new Map<Socket, string>();
  const counts = new Map<string, number>();

  function leave(socket: Socket): void {
    strangers.delete(socket);
    const owner = owners.get(socket);
    if (owner === undefined) return;
    owners.delete(socket);
    const rest = counts.get(owner)! - 1;
    if (rest === 0) counts.delete(owner);
    else counts.set(owner, rest);
  }

  function endAStranger(): void {
    let looks = 0;
    for (const socket of strangers) {
      if (!isBusy(socket)) {
        leave(socket);
        socket.destroy();
        return;
      }
      if (++looks === maxLooks) return;
    }
  }

  const count = (): number => strangers.size + owners.size;
  server.maxConnections = limit + spare;
  return {
    /** Counts a new connection in; false when it is refused, and closed. */
    admit(socket: Socket): boolean {
      if (count() >= limit) endAStranger();
      if (count() >= limit) {
        socket.destroy();
        return false;
      }
      strangers.add(socket);
      socket.once("close", () => leave(socket));
      return true;
    },
    /** Records the organization whose key a request on the connection carried. */
    noteOwner(socket: Socket, owner: string): void {
      if (owners.get(socket) === owner || socket.destroyed) return;
      leave(socket);
      owners.set(socket, owner);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    },
    /** True if the connection's owner has more connections than are left for others: it then ends with its answer. */
    isOverShare(socket: Socket): boolean {
      // Half of them are within everybody's share.
      if (2 * count() <= limit) return false;
      const owner = owners.get(socket);
      return owner !== undefined && counts.get(owner)! > limit - count();
    },
    /** Closes the connections on which nothing has been sent. */
    closeUnused(): void {
      for (const socket of strangers) if (socket.bytesRead === 0) socket.destroy();
    },
    count,
  };
}
