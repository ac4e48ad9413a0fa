import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/**
 * What a client's address counts as in rate limits: an IPv4 address as it is, also when it is written as
 * IPv4-mapped IPv6; of an IPv6 address the /64, because one customer of a network has all of it. A port behind the
 * address, and brackets around it, as some proxies write them, do not count. What is not an address (a proxy may
 * write anything) counts as `unknown`, together with everything else of that sort.
 */
export function clientSubject(presented: string): string {
  const address = withoutPort(presented);
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
