import { lookup as lookUp, Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { within } from "../runtime/within.ts";

/** Returns the addresses of a host name, at least one; rejects with the resolver's error. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface ResolveOptions {
  /** Name servers instead of the system's, as `address:port`. */
  servers?: readonly string[];
  /** Time limit of one query, which is sent at most twice; default 2 s. */
  queryTimeoutMs?: number;
  /** Replaces the system's resolver in tests. */
  lookup?: Resolve;
  /** Default `/etc/hosts`. */
  hostsFile?: string;
}

/** A connect attempt cannot try more addresses than this. */
const maxAddresses = 8;
const queryTimeoutMs = 2000;
const queryTries = 2;
/** How long to wait for AAAA after A (RFC 8305 §3 suggests 50 ms for the opposite order). */
const lateAnswerMs = 100;

/**
 * Creates a resolver that slow name servers cannot block.
 *
 * Node runs at most two calls of `dns.lookup` at a time, so two names that never resolve would delay every other connection, also
 * those to the database. This resolver queries the name servers directly. Only after they answered that the name has no addresses,
 * it reads the hosts file, and then calls `dns.lookup` (search domains) for one name at a time, because a name server may be silent
 * when it is asked again. Concurrent lookups of one name share an answer; nothing is cached afterwards.
 */
export function createResolve(options: ResolveOptions = {}): Resolve {
  const resolver = new Resolver({ timeout: options.queryTimeoutMs ?? queryTimeoutMs, tries: queryTries });
  if (options.servers !== undefined) resolver.setServers(options.servers);
  const asking = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    if (isLocalhost(hostname)) return Promise.resolve(localhostAddresses);
    const known = asking.get(hostname);
    if (known !== undefined) return known;
    const answer = ask(resolver, hostname, options).finally(() => asking.delete(hostname));
    asking.set(hostname, answer);
    return answer;
  };
}

const localhostAddresses = ["127.0.0.1", "::1"];

/** `localhost` and names below it are always loopback (RFC 6761 §6.3), even if a name server says otherwise. */
export function isLocalhost(hostname: string): boolean {
  return /^(?:.+\.)?localhost\.?$/i.test(hostname);
}

async function ask(
  resolver: Resolver,
  hostname: string,
  { lookup = askSystem, hostsFile = "/etc/hosts" }: ResolveOptions,
): Promise<readonly string[]> {
  const ipv4 = resolver.resolve4(hostname);
  const ipv6 = resolver.resolve6(hostname);
  // Handled at once, because the query may fail before its result is awaited.
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
  const listed = await readHostsFile(hostname, hostsFile);
  const fallback = listed.length > 0 ? listed : await inTurn(hostname, () => lookup(hostname));
  return fallback.slice(0, maxAddresses);
}

/** The addresses of a name in the hosts file, which needs no turn at the system's resolver; empty for an unknown name. */
async function readHostsFile(hostname: string, path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    return isIP(address) !== 0 && names.includes(hostname.toLowerCase()) ? [address] : [];
  });
}

async function askSystem(hostname: string): Promise<string[]> {
  return (await lookUp(hostname, { all: true })).map(({ address }) => address);
}

/** How long a name waits for the system's resolver while it is busy with other names. */
const turnLimitMs = 4_000;
/** Resolves when all calls so far have ended. */
let ended: Promise<void> = Promise.resolve();

/** Runs one call at a time in this process. @throws {Error} with the code ETIMEOUT when its turn does not come in time. */
async function inTurn<T>(hostname: string, run: () => Promise<T>): Promise<T> {
  const isTurn = within(
    turnLimitMs,
    ended.then(() => true),
    false,
  );
  const result = isTurn.then((isFree) => {
    if (isFree) return run();
    const text = `the system's resolver was busy, so ${hostname} was not looked up`;
    throw Object.assign(new Error(text), { code: "ETIMEOUT", syscall: "getaddrinfo" });
  });
  // Without a value of its own, because the value of `allSettled` would refer to the values of all earlier calls.
  ended = Promise.allSettled([ended, result]).then(() => undefined);
  return result;
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ETIMEOUT";
}
