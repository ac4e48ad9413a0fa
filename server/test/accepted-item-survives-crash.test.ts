import { expect, it } from "vitest";
import { surviveCrashes } from "./support/crashes.ts";

/** Each seed is another run; `npm run faults` makes many, and longer ones. */
const seed = 7;

it("what was answered with 202 is delivered, whichever process is killed at whatever moment", async () => {
  const crashes = await surviveCrashes({ seed, rounds: 3 });
  // This seed kills the service, its database, and both.
  expect(new Set(crashes).size).toBe(3);
}, 180_000);
