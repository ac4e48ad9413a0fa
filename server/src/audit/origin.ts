import type { FastifyRequest } from "fastify";
import type { Caller } from "../http/contract/credentials.ts";

/** Who makes a change. */
export type Actor =
  | { kind: "user"; id: string; name?: string }
  | { kind: "key"; id: string }
  /** A customer, in its portal. */
  | { kind: "customer"; id: string }
  /** The login of whoever gave a command on the service's machine. */
  | { kind: "operator"; name: string }
  /** The service itself, with what made it. */
  | { kind: "service"; name: string }
  | { kind: "unknown" };

/** Where a change comes from; its transaction writes it down, see `recordChange`. */
export interface Origin {
  /** Whose change it is; null when it is nobody's. */
  orgId: string;
  actor: Actor;
  /** What of the request is kept; absent for what no request made. */
  request?: RequestTrace;
}

export interface RequestTrace {
  clientAddress: string;
  userAgent: string | null;
  requestId: string;
}

/** The origin of a change that an authenticated request makes. */
export function originOf({ caller, request }: { caller: Caller; request: FastifyRequest }): Origin {
  return { orgId: caller.orgId, actor: actorOf(caller), request: traceOf(request) };
}

function actorOf(caller: Caller): Actor {
  switch (caller.kind) {
    case "apiKey":
      return { kind: "key", id: caller.keyId };
    case "session":
      return { kind: "user", id: caller.userId };
    case "portal":
      return { kind: "customer", id: caller.customerId };
  }
}

const maxAddressCharacters = 64;
const maxUserAgentCharacters = 200;

/** What is kept of a request: a client writes its user agent as it likes, and a proxy the address. */
export function traceOf(request: FastifyRequest): RequestTrace {
  return {
    clientAddress: request.ip.slice(0, maxAddressCharacters),
    userAgent: request.headers["user-agent"]?.slice(0, maxUserAgentCharacters) ?? null,
    requestId: request.id,
  };
}
