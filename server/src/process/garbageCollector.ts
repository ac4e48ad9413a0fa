import { availableParallelism } from "node:os";
import { setFlagsFromString } from "node:v8";

/** As `node --v8-options` has it. */
export const helpersOffFlag = "--no-parallel-scavenge";
const fewCores = 2;

/**
 * Lets V8 empty its young generation without helping threads where there are few cores. It has four of them whatever
 * the machine has, and on two cores they take PostgreSQL's turn and keep the main thread waiting: an item that is
 * delivered costs Node a twentieth more with them. V8 looks at the flag at each collection, so it may be set now.
 */
export function fitCollectorToCores(): void {
  if (availableParallelism() <= fewCores) setFlagsFromString(helpersOffFlag);
}
