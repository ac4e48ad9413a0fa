import { clientAddress } from "../http/contract/client.ts";
import { hash } from "node:crypto";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type pg from "pg";
import { countOrRefuse } from "../http/contract/countOrRefuse.ts";
import type { RouteCall } from "../http/contract/route.ts";
import { dailyScope } from "../postgres/countInWindow.ts";

/** Length of a window, in seconds. Only the windows of `dailyScope`, in the same table, are longer. */
const rateLimitWindowSeconds = 900;

/** Words for the limited requests in refusals, by scope. */
const doing = {
  signup: "sign up",
  login: "log in",
  invitation: "accept an invitation",
  password: "change a password",
  "password-reset": "reset a password",
  "password-reset-email": "reset a password",
  "password-reset-confirm": "reset a password",
};

/** A limit on requests of one kind per window, for each client address, user or email. */
export interface RateLimit {
  scope: keyof typeof doing;
  limit: number;
  /** Counts requests of this user instead of the client's address. */
  userId?: string;
  /** Counts requests for this email (see `emailKey`), whether or not it has an account. */
  emailKey?: string;
}

/**
 * Counts one request by the client's address, the user, or the email; see {@link countOrRefuse}. A window begins with the
 * first request counted and ends 15 minutes later.
 */
export function countRequest(
  pool: pg.Pool,
  { scope, limit, userId, emailKey }: RateLimit,
  { request, reply }: Pick<RouteCall, "request" | "reply">,
): Promise<void> {
  // Only the digest of an email is stored: the text may be a password in the wrong field.
  const subject =
    userId ??
    (emailKey === undefined ? clientSubject(clientAddress(request) ?? "") : hash("sha256", emailKey, "hex"));
  const whose =
    userId !== undefined ? "by this user" : emailKey !== undefined ? "for this email" : "from this address";
  const refusal = `too many requests to ${doing[scope]} ${whose}: try again later`;
  const window = { scope, subject, limit, windowSeconds: rateLimitWindowSeconds };
  return countOrRefuse(pool, { ...window, refusal }, reply);
}

/**
 * The rate-limit key of a client's address: an IPv4 address itself, also when written as IPv4-mapped IPv6; the /64 of an
 * IPv6 address, because a network assigns a whole /64 to one customer. A port and brackets, which some proxies write, and the zone
 * of a link-local address (`%br-lan`) are ignored. All texts that are not addresses (a proxy may write anything) share the key `unknown`.
 */
export function clientSubject(presented: string): string {
  const address = withoutPort(presented).replace(/%.*$/, "");
  if (isIP(address) === 0) return "unknown";
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(":")}::/64`;
}

/** `192.0.2.1:443` and `[2001:db8::1]:443` without the port; `[2001:db8::1]` without the brackets. */
function withoutPort(text: string): string {
  return (
    /^\[([0-9A-Fa-f:.%\w]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  );
}

/** Deletes the windows that have ended. @returns the number of deleted windows. */
export async function sweepRateLimits(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from rate_limits
     where window_start <= extract(epoch from now())::bigint - case when scope = $2 then $3::bigint else $1::bigint end`,
    [rateLimitWindowSeconds, dailyScope.scope, dailyScope.windowSeconds],
  );
  return rowCount ?? 0;
}
