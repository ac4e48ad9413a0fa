import { spawnSync } from "node:child_process";
import { chmodSync, statfsSync } from "node:fs";

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
  const full = new Set<string>();
  const clear = (): void => {
    for (const folder of full) resize(folder, sizeMib * 2 ** 20);
    full.clear();
  };
  return {
    folders,
    canFill: mounted.length === folders.length,
    fill(path) {
      const folder = folders.find((one) => path.startsWith(`${one}/`))!;
      full.add(folder);
      // It does not become smaller than what is on it, which may have grown meanwhile.
      for (let tries = 0; tries < 10 && !resize(folder, usedBytes(folder)); tries++);
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

function usedBytes(folder: string): number {
  const { blocks, bfree, bsize } = statfsSync(folder);
  return (blocks - bfree) * bsize;
}

/** A disk in memory that is as large as what is on it is full at once, and nothing has to be written. */
function resize(folder: string, bytes: number): boolean {
  return spawnSync("/bin/mount", ["-o", `remount,size=${bytes}`, folder]).status === 0;
}
