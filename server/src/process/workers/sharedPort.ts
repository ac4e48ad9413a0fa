import { lookup } from "node:dns/promises";
import net from "node:net";

/** The service's port: sockets that the supervisor holds open and the workers listen on. */
export type SharedPort = Awaited<ReturnType<typeof bindSharedPort>>;

/**
 * Binds the address once for each slot. The kernel divides new connections between the sockets (SO_REUSEPORT). The supervisor
 * keeps each socket open too, so that clients who connect while a worker is replaced wait for the next one
 * instead of being refused. On systems that cannot divide connections (macOS), all workers accept from one socket.
 * @throws {Error} with the `code` of the operating system, or a sentence when this Node cannot share a port.
 */
export async function bindSharedPort({ host, port }: { host: string; port: number }, count: number) {
  refuseUnable();
  const address = net.isIP(host) === 0 ? (await lookup(host)).address : host;
  // An exclusive bind fails if any other program listens there, including one that shares its port.
  const probe = new net.BoundSocket({ host: address, port });
  const bound = probe.address().port;
  probe.close();
  const sockets = bindEach({ host: address, port: bound }, count);
  const open = new Set(sockets);
  /** The index of the socket that a slot's worker listens on. */
  const socketOf = (slot: number): number => slot % sockets.length;
  return {
    port: bound,
    /** The descriptors of all sockets, which every worker inherits in this order. */
    fds: sockets.map((socket) => socket.fd()),
    socketOf,
    /** Closes the supervisor's descriptor of a slot's socket, so that the socket ends with its worker. */
    release(slot: number): void {
      const socket = sockets[socketOf(slot)]!;
      // A socket that other workers listen on is closed by `close`.
      if (sockets.length > 1 && open.delete(socket)) socket.close();
    },
    close(): void {
      for (const socket of open) socket.close();
      open.clear();
    },
  };
}

function bindEach(address: { host: string; port: number }, count: number): net.BoundSocket[] {
  const sockets: net.BoundSocket[] = [];
  try {
    while (sockets.length < count) sockets.push(new net.BoundSocket({ ...address, reusePort: true }));
    return sockets;
  } catch (error) {
    for (const socket of sockets) socket.close();
    if ((error as NodeJS.ErrnoException).code === "ENOTSUP") return [new net.BoundSocket(address)];
    throw error;
  }
}

function refuseUnable(): void {
  if (process.platform === "win32") {
    throw new Error(
      "POSTRIDER_PROCESSES must be 1 on Windows, where processes cannot share a port this way: run several services on one DATABASE_URL behind a load balancer",
    );
  }
  // Node has it since 26.4; the type does not say that it may be missing.
  if ((net.BoundSocket as unknown) === undefined) {
    throw new Error(
      `POSTRIDER_PROCESSES above 1 needs Node 26.4 or newer, and this is Node ${process.versions.node}: run it with a newer one, or several services on one DATABASE_URL behind a load balancer`,
    );
  }
}
