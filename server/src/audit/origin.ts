import type { FastifyRequest } from "fastify";
import { clientAddress } from "../http/contract/client.ts";
import type { Caller } from "../http/contract/credentials.ts";
import type pg from "pg";

/** The author of a change. */
export type Actor =
  | { kind: "user"; id: string; name?: string }
  | { kind: "key"; id: string }
  /** A customer, in its portal. */
  | { kind: "customer"; id: string }
  /** The login name of the user who ran a command on the service's machine. */
  | { kind: "operator"; name: string }
  /** The service itself; `name` is the reason. */
  | { kind: "service"; name: string }
  | { kind: "unknown" };

/** The origin of a change, which `recordChange` stores with it. */
export interface Origin {
  /** The organization whose data changes. */
  orgId: string;
  actor: Actor;
  /** Absent for a change that was not made by a request. */
  request?: RequestTrace;
}

export interface RequestTrace {
  /** Null if the client had disconnected. */
  clientAddress: string | null;
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

/** The stored fields of a request, truncated: clients choose their user agent, and proxies write the address. */
export function traceOf(request: FastifyRequest): RequestTrace {
  return {
    clientAddress: clientAddress(request)?.slice(0, maxAddressCharacters) ?? null,
    userAgent: request.headers["user-agent"]?.slice(0, maxUserAgentCharacters) ?? null,
    requestId: request.id,
  };
}

/** Reads a user's email address, for records that outlive the user; null for a deleted user. */
export async function emailOf(queryable: pg.Pool | pg.ClientBase, userId: string): Promise<string | null> {
  const { rows } = await queryable.query<{ email: string }>("select email from users where id = $1", [
    userId,
  ]);
  return rows[0]?.email ?? null;
}
