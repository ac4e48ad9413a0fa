import { connect as connectTcp, isIP, type LookupFunction, type Socket } from "node:net";
import { type ParsedNetworks, refusedAddress, refusedKind } from "./addressGuard.ts";
import type { Deadlines, Expiring } from "../runtime/deadlines.ts";
import { ConnectFailure, describeConnectError, describeTlsError } from "./failures.ts";
import { createTlsSessions, openTls } from "./openTls.ts";
import type { Resolve } from "./resolve.ts";
import type { Connect, Peer } from "./transport.ts";

export interface ConnectDeps {
  networks: ParsedNetworks;
  resolve: Resolve;
  deadlines: Deadlines;
  /** Time limit for DNS, TCP and TLS together. */
  connectTimeoutMs: number;
  /** Trusted certificate authorities, instead of the system's; PEM. */
  ca?: string | Buffer | undefined;
}

const tcpKeepAliveMs = 60_000;

/**
 * The only place that opens outbound connections, and therefore the only place where addresses must be checked. The guard checks
 * the addresses that are really used: a literal host, every address that a name resolves to, and the socket's peer address
 * before any byte is written. A name that resolves differently at each lookup (DNS rebinding) gains nothing.
 */
export function createConnect(deps: ConnectDeps): Connect {
  const sessions = createTlsSessions();
  return (peer, connected) => {
    const attempt: Expiring = { timeoutMs: deps.connectTimeoutMs, link: null, expire };
    let socket: Socket | null = null;
    let open = true;

    function end(error: Error | null): void {
      if (!open) return;
      open = false;
      deps.deadlines.remove(attempt);
      if (error === null) {
        connected(null, socket);
      } else {
        socket?.destroy();
        connected(error, null);
      }
    }
    function expire(): void {
      const message = `no connection within ${deps.connectTimeoutMs / 1000} s`;
      end(new ConnectFailure({ code: "connect_timeout", message }));
    }
    function connectedTcp(): void {
      if (refusedKind(socket?.remoteAddress ?? "", deps.networks) !== null) {
        end(refused());
      } else if (socket !== null && peer.protocol === "https:") {
        const tls = { host: peer.hostname, port: portOf(peer), sessions, ca: deps.ca };
        socket = openTls(socket, tls);
        socket.once("secureConnect", () => end(null));
        socket.on("error", (error) => end(new ConnectFailure(describeTlsError(error), error)));
      } else {
        end(null);
      }
    }

    deps.deadlines.add(attempt);
    // Node does not look up a literal host, so the guard in the lookup would not check it.
    const isRefused = isIP(peer.hostname) !== 0 && refusedKind(peer.hostname, deps.networks) !== null;
    if (isRefused) {
      process.nextTick(end, refused());
    } else {
      socket = openTcp(deps, peer, end);
      socket.once("connect", connectedTcp);
    }
    return () => {
      open = false;
      deps.deadlines.remove(attempt);
      socket?.destroy();
    };
  };
}

function openTcp(deps: ConnectDeps, peer: Peer, end: (error: Error) => void): Socket {
  const tcp = connectTcp({
    host: peer.hostname,
    port: portOf(peer),
    lookup: guardedLookup(deps),
    autoSelectFamily: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: tcpKeepAliveMs,
  });
  tcp.on("error", (error) => {
    end(
      error instanceof ConnectFailure
        ? error
        : new ConnectFailure(describeConnectError(error, peer.hostname), error),
    );
  });
  return tcp;
}

/** Resolves a name and keeps only the addresses that are allowed. */
function guardedLookup({ resolve, networks }: ConnectDeps): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const allowed = addresses
          .filter((ip) => refusedKind(ip, networks) === null)
          .map((address) => ({ address, family: isIP(address) }));
        const [first] = allowed;
        if (first === undefined) {
          callback(refused(), []);
        } else if (options.all === true) {
          callback(null, allowed);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

function portOf({ port, protocol }: Peer): number {
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function refused(): ConnectFailure {
  return new ConnectFailure({ code: "refused_address", message: `the host ${refusedAddress}` });
}
