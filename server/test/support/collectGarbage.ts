import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Runs a full collection. Nothing that only a WeakRef refers to is there afterwards. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // A WeakRef keeps its target alive until the end of the turn in which it was made or read.
  await nextTurn();
  collect();
}
