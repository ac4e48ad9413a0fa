import { spawnSync } from "node:child_process";
import { chmodSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where the clusters lie. */
export interface Disks {
  folders: readonly [string, string];
  /** Whether they can be filled: each is a disk of its own. */
  canFill: boolean;
  /** Leaves nothing on the disk that holds this folder or file. */
  fill(path: string): void;
  /** Gives the room back. */
  clear(): void;
  remove(): Promise<void>;
}

const sizeMib = 400;

/**
 * Makes the folders disks of their own, in memory, where that is asked for and the system lets us, which takes root on
 * Linux. Without a disk of its own nothing can be filled but the disk of whoever runs this.
 */
export function provideDisks(folders: readonly [string, string], areAsked: boolean): Disks {
  const mounted = areAsked && canMount ? folders.filter((folder) => mount(folder)) : [];
  const ballast = (folder: string): string => join(folder, "ballast");
  const clear = (): void => {
    for (const folder of folders) rmSync(ballast(folder), { force: true });
  };
  return {
    folders,
    canFill: mounted.length === folders.length,
    fill(path) {
      const folder = folders.find((one) => path.startsWith(`${one}/`))!;
      const { bavail, bsize } = statfsSync(folder);
      try {
        writeFileSync(ballast(folder), Buffer.alloc(Math.max(0, bavail * bsize)));
      } catch (error) {
        // Others were quicker: it is as full as it was to be.
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      }
    },
    clear,
    async remove() {
      for (const folder of mounted) spawnSync("/bin/umount", ["--lazy", folder]);
    },
  };
}

const canMount = process.platform === "linux" && process.getuid?.() === 0;

function mount(folder: string): boolean {
  const { status } = spawnSync("/bin/mount", ["-t", "tmpfs", "-o", `size=${sizeMib}m`, "tmpfs", folder]);
  if (status === 0) chmodSync(folder, 0o711);
  return status === 0;
}
