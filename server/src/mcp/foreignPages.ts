import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { ApiError } from "../http/contract/errors.ts";
import { isHost } from "../http/contract/headProblem.ts";

/** The host names of the service: that of its public URL, and those that the operator lists. */
export interface OwnNames {
  publicUrl?: string | undefined;
  mcpHosts: readonly string[];
}

/**
 * Refuses requests that a page of another site could have sent, also by a host name that resolves to this service (DNS
 * rebinding): `Host` must be one of the service's names or an IP address, and `Origin`, which browsers send, one of its names.
 * @throws {ApiError} 403 for such a request.
 */
export function refuseForeignPages({ host, origin }: IncomingHttpHeaders, own: OwnNames): void {
  const name = hostnameOfHost(host);
  if (name === undefined || !(isAddress(name) || isOwn(name, own))) {
    throw new ApiError(
      403,
      "this Host is not a name of the service: set POSTRIDER_PUBLIC_URL or POSTRIDER_MCP_HOSTS",
      "host_refused",
    );
  }
  if (origin === undefined) return;
  const page = hostnameOf(origin);
  if (page === undefined || !(isOwn(page, own) || page === name)) {
    throw new ApiError(403, "pages of this Origin are not allowed to call tools", "origin_refused");
  }
}

/** Whether the name is an IP address, with or without brackets. Unlike a name, an address cannot be made to resolve elsewhere. */
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

/** The host of a URL, normalized by the URL parser: lower case, punycode, IPv4 as four decimal numbers, no trailing dot. */
function hostnameOf(url: string): string | undefined {
  return URL.parse(url)?.hostname.replace(/\.$/, "") || undefined;
}

/** The normalized host of a `Host` header; undefined if the header is not a name or an address with an optional port. */
function hostnameOfHost(host: string | undefined): string | undefined {
  return host !== undefined && isHost(host) ? hostnameOf(`http://${host}`) : undefined;
}
