import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const memory = "/dev/shm";
/** Several times the size of the largest test's rows. */
const neededBytes = 6 * 2 ** 30;

/**
 * Folder for the tests' database clusters: in memory if the system has enough space there. On a disk, cloning a
 * database takes a second and creating a cluster five, thirty times as long; tests of killed processes prove the
 * same in both.
 */
export function clusterFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= neededBytes ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}
