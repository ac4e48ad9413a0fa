import { isIP } from "node:net";
import { within } from "../runtime/within.ts";
import { type ParsedNetworks, refusedAddress as pointsInside, refusedKind } from "./addressGuard.ts";
import { createResolve, isLocalhost, type Resolve } from "./resolve.ts";

export interface TargetUrlPolicy {
  config: { allowHttpTargets: boolean };
  networks: ParsedNetworks;
  /** Replaces DNS in tests. */
  resolve?: Resolve;
}

const refusedAddress = `${pointsInside}: POSTRIDER_ALLOWED_NETWORKS exempts networks`;

/** `reason` completes a sentence that begins with the field's name: `url` + ` must use https`. */
export type TargetUrlCheck = { ok: true; url: URL } | { ok: false; reason: string };

const maxUrlLength = 2048;
const resolveTimeoutMs = 3000;
const defaultResolve = createResolve();

/**
 * Judges a URL that somebody wants the service to call. Waits up to 3 s for DNS.
 *
 * Only a positive answer refuses: a name that does not resolve yet is accepted, because receivers are often
 * set up after their target, and every connection is checked again anyway.
 */
export async function checkTargetUrl(text: string, policy: TargetUrlPolicy): Promise<TargetUrlCheck> {
  const url = parse(text);
  if (url === null) {
    return refuse(
      text.length > maxUrlLength
        ? `is longer than ${maxUrlLength} characters`
        : "must be an absolute URL such as https://example.com/hooks",
    );
  }
  const reason = refuseForm(url, policy.config.allowHttpTargets) ?? (await refuseHost(url.hostname, policy));
  return reason === null ? { ok: true, url } : refuse(reason);
}

function refuse(reason: string): TargetUrlCheck {
  return { ok: false, reason };
}

/** `URL` also takes `https:example.com`, backslashes and embedded line ends; none of them is a URL in a person's eyes. */
function parse(text: string): URL | null {
  if (text.length > maxUrlLength || !/^[a-z][a-z0-9+.-]*:\/\/[^/\\\s\p{Cc}][^\\\s\p{Cc}]*$/iu.test(text)) {
    return null;
  }
  return URL.parse(text);
}

function refuseForm(url: URL, allowHttp: boolean): string | null {
  if (url.protocol !== "https:" && !(allowHttp && url.protocol === "http:")) {
    if (allowHttp) return "must use https or http";
    return url.protocol === "http:"
      ? "must use https: http takes POSTRIDER_ALLOW_HTTP_TARGETS=true"
      : "must use https";
  }
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  if (url.href.includes("#")) return "must not contain a fragment (#)";
  if (url.port === "0") return "must not use port 0";
  if (!isIpLiteral(url.hostname) && !isHostName(url.hostname)) return "has no valid host name";
  return url.href.length > maxUrlLength ? `is longer than ${maxUrlLength} characters` : null;
}

/**
 * The host of a parsed URL is in its final spelling: `URL` has turned decimal, octal, hexadecimal and full-width
 * forms of IPv4 addresses into dotted ones, so what it shows here is what would be connected to.
 */
async function refuseHost(hostname: string, policy: TargetUrlPolicy): Promise<string | null> {
  if (isIpLiteral(hostname)) {
    return refusedKind(withoutBrackets(hostname), policy.networks) === null ? null : refusedAddress;
  }
  if (isLocalhost(hostname)) {
    // Each connection uses whichever of the two is exempt.
    const exempt = ["127.0.0.1", "::1"].some((ip) => refusedKind(ip, policy.networks) === null);
    return exempt ? null : refusedAddress;
  }
  const { resolve = defaultResolve } = policy;
  const addresses = await within(
    resolveTimeoutMs,
    resolve(hostname).catch(() => []),
    [],
  );
  return addresses.every((ip) => refusedKind(ip, policy.networks) === null) ? null : refusedAddress;
}

function isIpLiteral(hostname: string): boolean {
  return isIP(withoutBrackets(hostname)) !== 0;
}

/** `URL` shows IPv6 addresses in brackets; resolvers and sockets want them without. */
function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** RFC 1035 §2.3.4 lengths; underscores are not host names by the letter but are in use. */
function isHostName(hostname: string): boolean {
  return hostname.length <= 254 && /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/i.test(hostname);
}
