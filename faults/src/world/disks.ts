import { spawnSync } from "node:child_process";
import { chmodSync, statfsSync } from "node:fs";

/** Disks of the database clusters. */
export interface Disks {
  folders: readonly [string, string];
  /** Whether each folder is a disk of its own, which can be filled. */
  canFill: boolean;
  /** Fills the disk that holds this folder or file. */
  fill(path: string): void;
  /** Frees the space. */
  clear(): void;
  remove(): Promise<void>;
}

const sizeMib = 400;

/**
 * Mounts each folder as a disk in memory when asked to and when the system allows it (root on Linux). Without such
 * a disk nothing is filled, because that would fill the user's own disk.
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
      // The disk cannot shrink below its content, which may have grown since it was measured.
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

/** A disk in memory whose size equals its content is full, without writing anything. */
function resize(folder: string, bytes: number): boolean {
  return spawnSync("/bin/mount", ["-o", `remount,size=${bytes}`, folder]).status === 0;
}
