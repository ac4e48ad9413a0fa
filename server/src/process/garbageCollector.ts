import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

/** Spelled as `node --v8-options` lists it. */
export const helpersOffFlag = "--no-parallel-scavenge";
const fewCores = 2;

/**
 * Turns off V8's helper threads for young-generation collection on machines with at most two cores. V8 uses four of them on any
 * machine; on two cores they compete with PostgreSQL and make the main thread wait: with them a delivered item costs Node 5 %
 * more. V8 reads the flag at each collection, so it can be set while the process runs.
 */
export function fitCollectorToCores(): void {
  if (availableParallelism() <= fewCores) setFlagsFromString(helpersOffFlag);
}
