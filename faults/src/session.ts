import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterFolder } from "../../server/test/support/clusterFolder.ts";
import { installPackage } from "../../server/test/support/installPackage.ts";
import { root } from "../../server/scripts/bundlePrograms.ts";
import { findCitus } from "./world/citus/findCitus.ts";
import { makeEmptyTemplate, makeTemplate } from "./world/postgres/cluster.ts";
import { findInstallation, type Installation } from "./world/postgres/installation.ts";
import type { Version } from "./world/serviceSlot.ts";

/** Resources that runs share: the programs, and a template cluster of which each run gets a copy. */
export interface Session {
  installation: Installation;
  template: string;
  /** In how many cells the data plane is. */
  cells: number;
  /** Whether the cells are on the workers of a Citus cluster. */
  isOnCitus: boolean;
  commands: Record<Version, string | undefined>;
  /** A folder of its own for the clusters of a run. */
  newDataFolder(name: string): string;
  close(): void;
}

export interface SessionInput {
  /** The command of this version; undefined for the one that tests bundle. */
  current?: string | undefined;
  cells?: number;
  /** URL of a server with Citus: its programs are used in place of the service's PostgreSQL. */
  citusUrl?: string | undefined;
}

export async function openSession({ current, cells = 1, citusUrl }: SessionInput = {}): Promise<Session> {
  const data = mkdtempSync(join(clusterFolder(), "postrider-faults-"));
  const programs = mkdtempSync(join(tmpdir(), "postrider-before-"));
  const close = (): void => {
    for (const folder of [data, programs]) rmSync(folder, { recursive: true, force: true });
  };
  try {
    // PostgreSQL may run as another user, who has to pass.
    chmodSync(data, 0o711);
    const installation = await (citusUrl === undefined ? findInstallation(data) : findCitus(citusUrl));
    const template = join(data, "template");
    const input = { installation, directory: template, logFile: join(programs, "template.log") };
    await (citusUrl === undefined ? makeTemplate(input, cells) : makeEmptyTemplate(input));
    const before = await installPackage(join(root, "server/test/fixtures/version-before.tgz"), programs);
    return {
      installation,
      template,
      cells,
      isOnCitus: citusUrl !== undefined,
      commands: { this: current, before },
      newDataFolder(name) {
        const folder = mkdtempSync(join(data, `${name}-`));
        chmodSync(folder, 0o711);
        return folder;
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
