import type { ParsedNetworks } from "./addressGuard.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { version } from "../config/version.ts";
import type { Config } from "../config/config.ts";

/** The outbound client as the configuration wants it. */
export function connectOutbound(
  config: Pick<Config, "allowHttpTargets" | "connectTimeoutMs" | "fastOutbound" | "maxInFlight">,
  networks: ParsedNetworks,
): Outbound {
  return createOutbound({
    allowHttp: config.allowHttpTargets,
    networks,
    userAgent: `Postrider/${version}`,
    connectTimeoutMs: config.connectTimeoutMs,
    // The dispatcher bounds what is under way; targets that share a host must not wait for each other.
    maxConnectionsPerOrigin: config.maxInFlight,
    isPlain: config.fastOutbound === "off",
  });
}
