import { GroupCommit } from "../../../server/src/runtime/groupCommit.ts";

/** Postrider's group commit for a peer: pieces that arrive during a write form the next batch. */
export function together<T>(write: (pieces: T[]) => Promise<unknown>): GroupCommit<T, void> {
  return new GroupCommit<T, void>({
    async run(pieces) {
      await write(pieces);
      return pieces.map(() => undefined);
    },
    isPieceAtFault: () => false,
    sizeOf: () => 1,
    maxBatch: 500,
    maxBatchBytes: 500,
    maxQueued: 100_000,
  });
}
