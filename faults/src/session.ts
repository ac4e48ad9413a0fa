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

/** Resources that runs share: the programs, and a template cluster that is copied for each run. */
export interface Session {
  installation: Installation;
  template: string;
  /** Number of cells of the data plane. */
  cells: number;
  /** Whether the cells are on the workers of a Citus cluster. */
  isOnCitus: boolean;
  commands: Record<Version, string | undefined>;
  /** Creates a folder for the database clusters of one run. */
  newDataFolder(name: string): string;
  close(): void;
}

export interface SessionInput {
  /** Path of the current version's command; undefined for the bundle that tests use. */
  current?: string | undefined;
  cells?: number;
  /** URL of a server with Citus, whose programs replace those of the embedded PostgreSQL. */
  citusUrl?: string | undefined;
}

export async function openSession({ current, cells = 1, citusUrl }: SessionInput = {}): Promise<Session> {
  const data = mkdtempSync(join(clusterFolder(), "postrider-faults-"));
  const programs = mkdtempSync(join(tmpdir(), "postrider-before-"));
  const close = (): void => {
    for (const folder of [data, programs]) rmSync(folder, { recursive: true, force: true });
  };
  try {
    // PostgreSQL may run as another user, who must be able to enter the folder.
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
