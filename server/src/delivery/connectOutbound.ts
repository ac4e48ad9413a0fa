import type { ParsedNetworks } from "../net/addressGuard.ts";
import { createOutbound, type Outbound } from "../net/outbound.ts";
import { version } from "../version.ts";
import type { SendingConfig } from "./thread/messages.ts";

/** The outbound client as the configuration wants it. */
export function connectOutbound(config: SendingConfig, networks: ParsedNetworks): Outbound {
  return createOutbound({
    allowHttp: config.allowHttpTargets,
    networks,
    userAgent: `Postrider/${version}`,
    connectTimeoutMs: config.connectTimeoutMs,
    // The dispatcher bounds what is under way; targets that share a host must not wait for each other.
    maxConnectionsPerOrigin: config.maxInFlight,
    isPlain: !config.fastOutbound,
  });
}
