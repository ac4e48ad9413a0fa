import type { Server } from "node:http";
import type { Socket } from "node:net";

/** Connections beyond the limit, after which Node itself drops new ones right after accept (`server.maxConnections`). */
const spare = 64;
/** The most connections that are examined for one that can be ended. */
const maxLooks = 64;

export type ConnectionLimit = ReturnType<typeof limitConnections>;

/**
 * Bounds the connections of a server, and the share of one organization. At `limit`, a new connection replaces the oldest
 * connection that has never carried a valid key and is not busy; if there is none, the new connection is refused. Thus clients
 * that hold idle connections, or do not read their answers, do not lock out others.
 * @param isBusy whether the service is working on an answer to the connection.
 */
export function limitConnections(
  server: Pick<Server, "maxConnections">,
  limit: number,
  isBusy: (socket: Socket) => boolean,
) {
  /** Connections that have not carried a valid key, in the order of their arrival. */
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
    /** Admits a new connection. Returns false if the connection is refused and closed. */
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
    /** Records the organization whose key a request on the connection carried. Ignores sockets that were not admitted or closed. */
    noteOwner(socket: Socket, owner: string): void {
      const known = owners.get(socket);
      // Requests that the service makes to itself have a new socket object each, which never closes.
      if (known === owner || (known === undefined && !strangers.has(socket))) return;
      leave(socket);
      owners.set(socket, owner);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    },
    /** Whether the connection's owner has more connections than are free: the connection then ends after its answer. */
    isOverShare(socket: Socket): boolean {
      // While at most half of the limit is in use, no owner is over its share.
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
