import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const memory = "/dev/shm";
/** Several times the rows of the largest test. */
const neededBytes = 6 * 2 ** 30;

/**
 * Where tests put database clusters: in memory where the system offers room for it. On a disk, a database that is cloned takes
 * a second and a cluster five, thirty times as long; what tests prove about processes that are killed is the same in both.
 */
export function clusterFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= neededBytes ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}
