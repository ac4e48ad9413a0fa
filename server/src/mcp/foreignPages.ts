import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { ApiError } from "../http/contract/errors.ts";
import { isHost } from "../http/contract/headProblem.ts";

/** Names that the service has: its public URL's, and those the operator lists. */
export interface OwnNames {
  publicUrl?: string | undefined;
  mcpHosts: readonly string[];
}

/**
 * Refuses what a page of another site could have sent, be it by a name that it made lead here (DNS rebinding): `Host`
 * has to be a name of the service or an address, and `Origin`, which browsers send, one of its names.
 * @throws {ApiError} 403
 */
export function refuseForeignPages({ host, origin }: IncomingHttpHeaders, own: OwnNames): void {
  const name = hostnameOfHost(host);
  if (name === undefined || !(isAddress(name) || isOwn(name, own))) {
    throw new ApiError(
      403,
      "this Host is no name of the service: set POSTRIDER_PUBLIC_URL or POSTRIDER_MCP_HOSTS",
      "host_refused",
    );
  }
  if (origin === undefined) return;
  const page = hostnameOf(origin);
  if (page === undefined || !(isOwn(page, own) || page === name)) {
    throw new ApiError(403, "pages of this Origin may not call tools here", "origin_refused");
  }
}

/** Whether it is an IP address, in brackets or not. Nobody can make an address lead elsewhere, as they can a name. */
function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}

function isOwn(name: string, { publicUrl, mcpHosts }: OwnNames): boolean {
  const own = [publicUrl, ...mcpHosts.map((host) => `http://${host}`)];
  return (
    ["localhost", "127.0.0.1", "[::1]"].includes(name) ||
    own.some((url) => url !== undefined && hostnameOf(url) === name)
  );
}

/** The name or address in a URL, as the URL parser writes it: lower-case, in punycode, IPv4 in four decimals, without a last dot. */
function hostnameOf(url: string): string | undefined {
  return URL.parse(url)?.hostname.replace(/\.$/, "") || undefined;
}

/** The same of a `Host`: nothing but a name or an address, and a port. */
function hostnameOfHost(host: string | undefined): string | undefined {
  return host !== undefined && isHost(host) ? hostnameOf(`http://${host}`) : undefined;
}
