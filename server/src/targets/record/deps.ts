import type { Config } from "../../config/config.ts";
import type { Parts } from "../../items/parts.ts";

/** The parts of the process that targets need, whatever their kind. */
export interface TargetDeps extends Pick<
  Parts,
  "queries" | "reads" | "box" | "networks" | "changes" | "nowMs" | "randomBytes" | "onDue"
> {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
}
