import { GroupCommit, type GroupCommitOptions } from "../../src/runtime/groupCommit.ts";

interface Run {
  batch: number[];
  commit: () => void;
  fail: (error: Error) => void;
}

/** A group commit whose batches end when the test decides. */
export function controlled(options: Partial<GroupCommitOptions<number, number>> = {}): {
  commits: GroupCommit<number, number>;
  runs: Run[];
  begun: (count: number) => Promise<void>;
} {
  const runs: Run[] = [];
  const commits = new GroupCommit<number, number>({
    run: (batch) =>
      new Promise((resolve, reject) => {
        runs.push({ batch, commit: () => resolve(batch.map((work) => work * 2)), fail: reject });
      }),
    isPieceAtFault: (error) => (error as Error).message === "a piece",
    sizeOf: () => 1,
    maxBatch: 100,
    maxBatchBytes: 1_000,
    maxQueued: 1_000,
    ...options,
  });
  return {
    commits,
    runs,
    async begun(count) {
      while (runs.length < count) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

/** Resolves after everything that waits for no timer has run. */
export async function afterImmediates(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
