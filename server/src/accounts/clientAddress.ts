import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * What a client's address counts as in rate limits: an IPv4 address as it is, also when it is written as
 * IPv4-mapped IPv6; of an IPv6 address the /64, because one customer of a network has all of it. What is not an
 * address (a proxy may write anything) counts as `unknown`, together with everything else of that sort.
 */
export function clientSubject(address: string): string {
  if (isIP(address) === 0) return "unknown";
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(":")}::/64`;
}
