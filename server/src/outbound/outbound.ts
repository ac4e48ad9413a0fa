import type { ParsedNetworks } from "./addressGuard.ts";
import { createConnect } from "./connect.ts";
import { createDeadlines } from "../runtime/deadlines.ts";
import type { Config } from "../config/config.ts";
import { version } from "../config/version.ts";
import { Exchange } from "./exchange.ts";
import type { ExchangeResult } from "./exchangeResult.ts";
import { type Failure, shuttingDown } from "./failures.ts";
import { createResolve, type Resolve } from "./resolve.ts";
import { Transport } from "./transport.ts";

export interface OutboundOptions {
  /** Permit `http:` URLs. */
  allowHttp: boolean;
  /** Exempt from the address guard. */
  networks: ParsedNetworks;
  userAgent: string;
  /** For DNS, TCP and TLS together; 5 s unless told. */
  connectTimeoutMs?: number;
  /** Connections to one origin at a time, 256 unless told; further requests wait for one. */
  maxConnectionsPerOrigin?: number;
  /** Idle connections kept in all, 1,024 unless told. */
  maxIdleConnections?: number;
  /** How long an idle connection is kept when the peer does not say; 10 s unless told. */
  keepAliveTimeoutMs?: number;
  /** Certificate authorities to trust in place of the system's; PEM. */
  ca?: string | Buffer;
  /** Replaces DNS in tests. */
  resolve?: Resolve;
  /** Takes the requests to one origin within this process. */
  local?: LocalReceiver | undefined;
}

/** A receiver within this process: a request to a URL below its origin opens no connection. */
export interface LocalReceiver {
  origin: string;
  /** Calls `ended` once, after it has returned. */
  receive(request: OutboundRequest, ended: (result: ExchangeResult) => void): void;
}

export interface OutboundRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  url: string;
  /** Names and values in turn, the cheapest form for undici. `host`, `user-agent` and `content-length` are added. */
  headers: readonly string[];
  /** Lower-case names of headers whose values nobody may read again. */
  secretNames?: ReadonlySet<string>;
  body?: Buffer | null;
  /** From dispatch to the end of the body; 15 s unless told. */
  timeoutMs?: number;
  /** Body bytes to keep, 16 KiB unless told; a longer answer still succeeds, cut there. */
  bodyLimitBytes?: number;
  /**
   * True unless told: the request may arrive twice. It is then sent once more when a kept-alive connection turns
   * out to have been closed by the peer before it answered anything.
   */
  repeatable?: boolean;
}

export type Outbound = ReturnType<typeof createOutbound>;

const defaultTimeoutMs = 15_000;
const defaultBodyLimitBytes = 16 * 1024;

/** The one client for everything the service sends: webhooks, agent cards, A2A and key sets. */
export function createOutbound(options: OutboundOptions) {
  const deadlines = createDeadlines();
  const transport = new Transport({
    connect: createConnect({
      networks: options.networks,
      resolve: options.resolve ?? createResolve(),
      deadlines,
      connectTimeoutMs: options.connectTimeoutMs ?? 5000,
      ca: options.ca,
    }),
    maxConnectionsPerOrigin: options.maxConnectionsPerOrigin ?? 256,
    maxIdleConnections: options.maxIdleConnections ?? 1024,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 10_000,
  });
  const deps = { transport, deadlines };
  const destinationOf = createDestinations(options);
  let closed = false;

  function send(request: OutboundRequest, ended: (result: ExchangeResult) => void): void {
    const destination = destinationOf(request.url);
    if (closed || destination.kind === "refused") {
      const result = notSent(destination.kind === "refused" ? destination.failure : shuttingDown);
      queueMicrotask(() => ended(result));
      return;
    }
    if (destination.kind === "local") {
      destination.receiver.receive(request, ended);
      return;
    }
    const input = {
      options: {
        origin: destination.originUrl,
        method: request.method,
        path: destination.path,
        headers: [...request.headers, "user-agent", options.userAgent],
        body: request.body ?? null,
        // A connection carries one request at a time anyway: undici need not go through its queue at each answer.
        blocking: false,
      },
      timeoutMs: request.timeoutMs ?? defaultTimeoutMs,
      bodyLimitBytes: request.bodyLimitBytes ?? defaultBodyLimitBytes,
      repeatable: request.repeatable ?? true,
    };
    const exchange = new Exchange(deps, input, ended);
    deadlines.add(exchange);
    transport.dispatch(exchange.options, exchange);
  }

  return {
    /** Never rejects: whatever happens comes back as a value. Redirects, cookies and compression are left alone. */
    request: (request: OutboundRequest): Promise<ExchangeResult> =>
      new Promise((resolve) => send(request, resolve)),
    /**
     * The same with a callback, which is called once, after `send` has returned. A request that `ended` sends to the same
     * origin finds the connection of the answer free.
     */
    send,
    /** Ends every connection at once; requests under way come back as errors. Let them finish first. */
    close(): void {
      closed = true;
      transport.end();
    },
  };
}

/** The outbound client that the configuration describes. */
export function connectOutbound(
  config: Pick<Config, "allowHttpTargets" | "connectTimeoutMs" | "maxInFlight">,
  networks: ParsedNetworks,
  local: LocalReceiver,
): Outbound {
  return createOutbound({
    local,
    allowHttp: config.allowHttpTargets,
    networks,
    userAgent: `Postrider/${version}`,
    connectTimeoutMs: config.connectTimeoutMs,
    // The dispatcher bounds what is under way; targets that share a host must not wait for each other.
    maxConnectionsPerOrigin: config.maxInFlight,
  });
}

function notSent({ code, message }: Failure): ExchangeResult {
  return { kind: "error", code, message, durationMs: 0, sent: false };
}

type Destination =
  | { kind: "open"; originUrl: string; path: string }
  | { kind: "local"; receiver: LocalReceiver }
  | { kind: "refused"; failure: Failure };

type DestinationRules = Pick<OutboundOptions, "allowHttp" | "local">;

const maxDestinations = 4096;

/** Parses URLs once: a target's URL comes back with each of its items. */
function createDestinations(rules: DestinationRules): (url: string) => Destination {
  const known = new Map<string, Destination>();
  return (url) => {
    let destination = known.get(url);
    if (destination === undefined) {
      if (known.size >= maxDestinations) known.clear();
      destination = parseDestination(url, rules);
      known.set(url, destination);
    }
    return destination;
  };
}

function parseDestination(text: string, { allowHttp, local }: DestinationRules): Destination {
  if (local !== undefined && `${text}/`.startsWith(`${local.origin}/`))
    return { kind: "local", receiver: local };
  const url = URL.parse(text);
  if (url === null) {
    return { kind: "refused", failure: { code: "other", message: "the URL is not valid" } };
  }
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:")) {
    const message = `${url.protocol} URLs are not allowed`;
    return { kind: "refused", failure: { code: "refused_address", message } };
  }
  if (url.username !== "" || url.password !== "") {
    const message = "a URL with a user name or password is not allowed";
    return { kind: "refused", failure: { code: "refused_address", message } };
  }
  return { kind: "open", originUrl: url.origin, path: url.pathname + url.search };
}
