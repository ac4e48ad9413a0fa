import type { Config } from "../config/config.ts";
import type { Queries } from "../postgres/tables.ts";
import type { ParsedNetworks } from "../outbound/addressGuard.ts";
import type { HandoffTargets } from "./handoffTargets.ts";
import type { Changes } from "../items/changes.ts";
import type { SecretBox } from "../items/secretBox.ts";

/** What targets and legacy endpoints need from the process. */
export interface TargetDeps {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
  queries: Queries;
  box: SecretBox;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  /** The part of a2a targets that is not a target's: cards and bearers. */
  handoffs?: { targets: HandoffTargets };
  changes: Changes;
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something may have become due. */
  onDue: () => void;
}
