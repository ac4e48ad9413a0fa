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

const refusedAddress = `${pointsInside}: POSTRIDER_ALLOWED_NETWORKS can allow networks`;

/** `reason` completes a sentence that begins with the field's name: `url` + ` must use https`. */
export type TargetUrlCheck = { ok: true; url: URL } | { ok: false; reason: string };

const maxUrlLength = 2048;
const resolveTimeoutMs = 3000;
const defaultResolve = createResolve();

/**
 * Checks a URL that a user wants the service to call. Waits up to 3 s for DNS.
 *
 * Only a resolved address can lead to a refusal: a name that does not resolve yet is accepted, because receivers are often set
 * up after their target. Every connection is checked again.
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

/** Parses a URL. `URL` also accepts `https:example.com`, backslashes and embedded line breaks; this function refuses them. */
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
      ? "must use https: http needs POSTRIDER_ALLOW_HTTP_TARGETS=true"
      : "must use https";
  }
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  if (url.href.includes("#")) return "must not contain a fragment (#)";
  if (url.port === "0") return "must not use port 0";
  if (!isIpLiteral(url.hostname) && !isHostName(url.hostname)) return "has no valid host name";
  return url.href.length > maxUrlLength ? `is longer than ${maxUrlLength} characters` : null;
}

/**
 * Checks the host of a parsed URL. `URL` has already converted decimal, octal, hexadecimal and full-width IPv4 forms to dotted
 * notation, so the host is the address that would be connected to.
 */
async function refuseHost(hostname: string, policy: TargetUrlPolicy): Promise<string | null> {
  if (isIpLiteral(hostname)) {
    return refusedKind(withoutBrackets(hostname), policy.networks) === null ? null : refusedAddress;
  }
  if (isLocalhost(hostname)) {
    // A connection uses the address that is exempt.
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

/** `URL` writes IPv6 addresses in brackets; resolvers and sockets need them without. */
function withoutBrackets(hostname: string): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** Length limits of RFC 1035 §2.3.4. Underscores are not allowed in host names but are in use. */
function isHostName(hostname: string): boolean {
  return hostname.length <= 254 && /^(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}\.?$/i.test(hostname);
}
