import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Runs a full garbage collection. Afterwards no object exists that only a WeakRef refers to. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  // A WeakRef keeps its target alive until the end of the event loop turn in which it was created or read.
  await nextTurn();
  collect();
}
