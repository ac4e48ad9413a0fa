import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clusterFolder } from "../../server/test/support/clusterFolder.ts";
import { installPackage } from "../../server/test/support/installPackage.ts";
import { root } from "../../server/scripts/bundlePrograms.ts";
import { makeTemplate } from "./world/postgres/cluster.ts";
import { findInstallation, type Installation } from "./world/postgres/installation.ts";
import type { Version } from "./world/serviceSlot.ts";

/** What runs share: the programs, and a cluster that each begins with a copy of. */
export interface Session {
  installation: Installation;
  template: string;
  /** In how many cells the data plane is. */
  cells: number;
  commands: Record<Version, string | undefined>;
  /** A folder of its own for the clusters of a run. */
  newDataFolder(name: string): string;
  close(): void;
}

/** @param current the command of this version; undefined for the one that tests bundle. */
export async function openSession(current: string | undefined, cells = 1): Promise<Session> {
  const data = mkdtempSync(join(clusterFolder(), "postrider-faults-"));
  const programs = mkdtempSync(join(tmpdir(), "postrider-before-"));
  const close = (): void => {
    for (const folder of [data, programs]) rmSync(folder, { recursive: true, force: true });
  };
  try {
    // PostgreSQL may run as another user, who has to pass.
    chmodSync(data, 0o711);
    const installation = await findInstallation(data);
    const template = join(data, "template");
    await makeTemplate({ installation, directory: template, logFile: join(programs, "template.log"), cells });
    const before = await installPackage(join(root, "server/test/fixtures/version-before.tgz"), programs);
    return {
      installation,
      template,
      cells,
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
