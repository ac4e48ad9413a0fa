import { expect, it } from "vitest";
import { surviveCrashes } from "./support/crashes.ts";

/** Each seed is a different run; `npm run faults` plays many seeds and longer runs. */
const seed = 7;

it("what was answered with 202 is delivered, whichever process is killed and whenever", async () => {
  const crashes = await surviveCrashes({ seed, rounds: 3 });
  // This seed kills the service, its database, and both.
  expect(new Set(crashes).size).toBe(3);
}, 180_000);
