import { lookup, Resolver } from "node:dns/promises";
import { within } from "../runtime/within.ts";

/** The addresses of a host name, at least one; rejects with the resolver's error. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface ResolveOptions {
  /** Name servers in place of the system's, as `address:port`. */
  servers?: readonly string[];
  /** For one question, asked twice at most; 2 s unless told. */
  queryTimeoutMs?: number;
}

/** More addresses than a connect attempt can try are of no use. */
const maxAddresses = 8;
const queryTimeoutMs = 2000;
const queryTries = 2;
/** How long AAAA may lag behind A (RFC 8305 §3 suggests 50 ms for the opposite order). */
const lateAnswerMs = 100;

/**
 * A resolver that a slow name server cannot clog.
 *
 * `dns.lookup` runs on the process's four shared worker threads, so a few names that never answer would hold up
 * every other connection, and password hashing with them. This one asks the name servers directly, and
 * falls back to `dns.lookup` (the hosts file, search domains) only when they have answered that there is nothing.
 * Concurrent questions for one name share an answer; nothing is kept after it.
 */
export function createResolve(options: ResolveOptions = {}): Resolve {
  const resolver = new Resolver({ timeout: options.queryTimeoutMs ?? queryTimeoutMs, tries: queryTries });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const asking = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    if (isLocalhost(hostname)) return Promise.resolve(localhostAddresses);
    const known = asking.get(hostname);
    if (known !== undefined) return known;
    const answer = ask(resolver, hostname).finally(() => asking.delete(hostname));
    asking.set(hostname, answer);
    return answer;
  };
}

const localhostAddresses = ["127.0.0.1", "::1"];

/** `localhost` and names under it are loopback by definition (RFC 6761 §6.3), whatever a name server says. */
export function isLocalhost(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

async function ask(resolver: Resolver, hostname: string): Promise<readonly string[]> {
  const ipv4 = resolver.resolve4(hostname);
  const ipv6 = resolver.resolve6(hostname);
  // It may fail before anyone waits for it.
  const ipv6InTime = ipv6.catch(() => []);
  const [first, second] = await Promise.allSettled([
    ipv4,
    ipv4.then(
      () => within(lateAnswerMs, ipv6InTime, []),
      () => ipv6,
    ),
  ]);
  const found = [first, second].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  if (found.length > 0) return found.slice(0, maxAddresses);
  for (const answer of [first, second]) {
    if (answer.status === "rejected" && isTimeout(answer.reason)) throw answer.reason;
  }
  const fallback = await lookup(hostname, { all: true });
  return fallback.slice(0, maxAddresses).map(({ address }) => address);
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ETIMEOUT";
}
