import type { Config } from "../../config/config.ts";

/** The settings of sending, which the second thread gets a copy of. */
export type SendingConfig = Pick<
  Config,
  | "allowHttpTargets"
  | "allowedNetworks"
  | "connectTimeoutMs"
  | "deliveryTimeoutMs"
  | "fastOutbound"
  | "fastSql"
  | "logLevel"
  | "logRequests"
  | "maxInFlight"
  | "roles"
  | "targetConcurrency"
>;
