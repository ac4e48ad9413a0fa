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
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  userAgent: string;
  /** Time limit for DNS, TCP and TLS together; default 5 s. */
  connectTimeoutMs?: number;
  /** Maximum connections to one origin, default 256; further requests wait for a free connection. */
  maxConnectionsPerOrigin?: number;
  /** Maximum idle connections in total, default 1,024. */
  maxIdleConnections?: number;
  /** How long an idle connection is kept if the peer sends no hint; default 10 s. */
  keepAliveTimeoutMs?: number;
  /** Trusted certificate authorities, instead of the system's; PEM. */
  ca?: string | Buffer;
  /** Replaces DNS in tests. */
  resolve?: Resolve;
  /** Receives the requests to one origin within this process. */
  local?: LocalReceiver | undefined;
}

/** A receiver within this process: requests to URLs of its origin open no connection. */
export interface LocalReceiver {
  origin: string;
  /** Calls `ended` once, after it has returned. */
  receive(request: OutboundRequest, ended: (result: ExchangeResult) => void): void;
}

export interface OutboundRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD";
  url: string;
  /** Names and values alternate, the cheapest form for undici. `host`, `user-agent` and `content-length` are added. */
  headers: readonly string[];
  /** Lower-case names of headers whose values must not be shown again. */
  secretNames?: ReadonlySet<string>;
  body?: Buffer | null;
  /** Time limit from dispatch to the end of the body; default 15 s. */
  timeoutMs?: number;
  /** Maximum body bytes to keep, default 16 KiB; a longer answer still succeeds with a truncated body. */
  bodyLimitBytes?: number;
  /**
   * Whether the request may arrive twice; default true. If so, it is sent once more when the peer closed a kept-alive connection
   * before it answered.
   */
  repeatable?: boolean;
}

export type Outbound = ReturnType<typeof createOutbound>;

const defaultTimeoutMs = 15_000;
const defaultBodyLimitBytes = 16 * 1024;

/** The only client for outbound requests: webhooks, agent cards, A2A and key sets. */
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
        // undici may skip its queue at each answer, because a connection carries one request at a time anyway.
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
    /** The promise never rejects: errors are values. Redirects are not followed, cookies not kept, bodies not decompressed. */
    request: (request: OutboundRequest): Promise<ExchangeResult> =>
      new Promise((resolve) => send(request, resolve)),
    /**
     * Sends a request like `request`, but calls `ended` once, after `send` has returned. If `ended` sends a request to the same
     * origin, the answer's connection is free again.
     */
    send,
    /** Closes all connections at once; running requests end with errors. Callers should let requests finish first. */
    close(): void {
      closed = true;
      transport.end();
    },
  };
}

/** Creates the outbound client from the configuration. */
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
    // The dispatcher limits the requests in flight; targets on the same host must not wait for each other.
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

/** Caches parsed URLs, because the same target URL is used for many items. */
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
