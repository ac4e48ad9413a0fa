import type { Config } from "../../config/config.ts";
import type { Changes } from "../../items/changes.ts";
import type { ReadTurns } from "../../http/contract/readTurns.ts";
import type { SecretBox } from "../../items/secretBox.ts";
import type { ParsedNetworks } from "../../outbound/addressGuard.ts";
import type { Queries } from "../../postgres/tables.ts";

/** The parts of the process that targets need, whatever their kind. */
export interface TargetDeps {
  config: Pick<Config, "allowHttpTargets" | "maxBodyBytes">;
  queries: Queries;
  reads: ReadTurns;
  box: SecretBox;
  /** Networks exempt from the address guard. */
  networks: ParsedNetworks;
  changes: Changes;
  nowMs: () => number;
  randomBytes: (size: number) => Buffer;
  /** Tells the local dispatcher that something may have become due. */
  onDue: () => void;
}
