/** A DNS name (RFC 1123, with underscores, which are in use), an IPv4 address or an IPv6 address in brackets. */
const hostName =
  /^(?:(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?|\[[0-9a-f:.]+\])$/;

/**
 * The origin of a URL as a source of a Content-Security-Policy; undefined where the host is no host name. The URL standard takes
 * hosts such as `x;sandbox`, which would end the directive and begin another.
 */
export function contentSource(url: URL): string | undefined {
  return hostName.test(url.hostname) && url.hostname.length <= 253 ? url.origin : undefined;
}
