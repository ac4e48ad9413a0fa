import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Networks exempt from the guard; created by {@link parseNetworks}. */
export interface ParsedNetworks {
  readonly ranges: readonly Range[];
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = readonly [Address, number];

/**
 * The same message for every refused address, whether it was a literal or a DNS result: callers must not learn the kind of an
 * address or the resolution of an internal name.
 */
export const refusedAddress = "points to an address that is not allowed";

/**
 * Returns the reason to refuse an address (`loopback`, `private`, …), or null if the service may connect to it.
 *
 * @param ip An IPv4 or IPv6 address in the usual notation, as resolvers and sockets return it.
 *
 * An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, …) is refused for that reason. If its network is exempt, the
 * embedded address is checked instead, so that exempting NAT64 does not allow 127.0.0.1.
 */
export function refusedKind(ip: string, allowed: ParsedNetworks): string | null {
  if (isIP(ip) === 0) return "not an IP address";
  if (ip.includes("%")) return "bound to one network interface";
  const address = parseAddress(ip);
  const exempt = allowed.ranges.some((range) => contains(range, address));
  if (!exempt) return rangeKind(address);
  const carried = address instanceof ipaddr.IPv6 ? carriedIpv4(address) : null;
  return carried === null ? null : refusedKind(carried, allowed);
}

/**
 * Parses networks in CIDR notation, from a comma-separated text or a list. An address without a prefix is a network of one
 * address.
 *
 * @throws Error naming the first entry that is not a network.
 */
export function parseNetworks(networks: string | readonly string[]): ParsedNetworks {
  const entries = (typeof networks === "string" ? networks.split(",") : networks)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  return { ranges: entries.map(parseNetwork) };
}

function parseNetwork(entry: string): Range {
  const [address = "", prefix, ...rest] = entry.split("/");
  const family = isIP(address);
  const widthBits = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? widthBits : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (family === 0 || address.includes("%") || rest.length > 0 || !(bits <= widthBits)) {
    throw new Error(
      `"${entry}" is not a network; write CIDR notation separated by commas, such as 127.0.0.0/8,::1/128`,
    );
  }
  return [parseAddress(address), bits];
}

/**
 * Normalizes IPv6 with `URL`, which writes it in hexadecimal, because ipaddr.js parses `::1.2.3.4` as the mapped
 * `::ffff:1.2.3.4`.
 */
function parseAddress(ip: string): Address {
  return ipaddr.parse(ip.includes(":") ? new URL(`http://[${ip}]`).hostname.slice(1, -1) : ip);
}

function contains([network, bits]: Range, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/** Ranges that never belong to a receiver on the Internet. The first matching range gives the reason. */
const refusedRanges: readonly (readonly [Range, string])[] = (
  [
    ["169.254.169.254/32", "a cloud metadata address"],
    ["169.254.170.2/32", "a cloud metadata address"],
    ["100.100.100.200/32", "a cloud metadata address"],
    ["168.63.129.16/32", "a cloud metadata address"],
    ["192.0.0.192/32", "a cloud metadata address"],
    ["0.0.0.0/8", "unspecified"],
    ["10.0.0.0/8", "private"],
    ["100.64.0.0/10", "in carrier-grade NAT space"],
    ["127.0.0.0/8", "loopback"],
    ["169.254.0.0/16", "link-local"],
    ["172.16.0.0/12", "private"],
    ["192.0.0.0/24", "reserved for protocols"],
    ["192.0.2.0/24", "reserved for documentation"],
    ["192.88.99.0/24", "a 6to4 relay"],
    ["192.168.0.0/16", "private"],
    ["198.18.0.0/15", "reserved for benchmarks"],
    ["198.51.100.0/24", "reserved for documentation"],
    ["203.0.113.0/24", "reserved for documentation"],
    ["224.0.0.0/4", "multicast"],
    ["255.255.255.255/32", "broadcast"],
    ["240.0.0.0/4", "reserved"],
    ["::1/128", "loopback"],
    ["::/128", "unspecified"],
    ["::ffff:0:0/96", "an IPv4 address mapped into IPv6"],
    ["::ffff:0:0:0/96", "an IPv4 address translated into IPv6"],
    ["::/96", "an IPv4 address written as IPv6"],
    ["64:ff9b::/96", "a NAT64 address"],
    ["64:ff9b:1::/48", "a NAT64 address"],
    ["100::/64", "a discard address"],
    ["2001::/32", "a Teredo address"],
    ["2001:2::/48", "reserved for benchmarks"],
    ["2001::/23", "reserved for protocols"],
    ["2001:db8::/32", "reserved for documentation"],
    ["2002::/16", "a 6to4 address"],
    ["3fff::/20", "reserved for documentation"],
    ["fd00:ec2::254/128", "a cloud metadata address"],
    ["fd20:ce::254/128", "a cloud metadata address"],
    ["fc00::/7", "private"],
    ["fe80::/10", "link-local"],
    ["fec0::/10", "site-local"],
    ["ff00::/8", "multicast"],
  ] as const
).map(([network, kind]) => [parseNetwork(network), kind] as const);

/** The only IPv6 range allocated for the Internet; every address outside of it is refused, named above or not. */
const globalIpv6 = parseNetwork("2000::/3");

function rangeKind(address: Address): string | null {
  const refused = refusedRanges.find(([range]) => contains(range, address));
  if (refused !== undefined) return refused[1];
  return address instanceof ipaddr.IPv6 && !contains(globalIpv6, address) ? "not a public address" : null;
}

const ipv4InLast32Bits = ["::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96"].map(parseNetwork);
const nat64Local = parseNetwork("64:ff9b:1::/48");
const sixToFour = parseNetwork("2002::/16");
const teredo = parseNetwork("2001::/32");

function carriedIpv4(address: ipaddr.IPv6): string | null {
  const { parts } = address;
  const plain = parts.slice(0, 7).every((part) => part === 0) && (parts[7] ?? 0) <= 1;
  if (plain) {
    // `::` and `::1` lie in ::/96 but embed no IPv4 address.
    return null;
  }
  if (ipv4InLast32Bits.some((range) => contains(range, address)) || contains(nat64Local, address)) {
    return dotted(parts[6], parts[7]);
  }
  if (contains(sixToFour, address)) return dotted(parts[1], parts[2]);
  if (contains(teredo, address)) {
    // RFC 4380 §4: the client's address with every bit inverted.
    return dotted((parts[6] ?? 0) ^ 0xff_ff, (parts[7] ?? 0) ^ 0xff_ff);
  }
  return null;
}

function dotted(high = 0, low = 0): string {
  return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
}
