import { expect, it } from "vitest";
import { surviveCrashes } from "../server/test/support/crashes.ts";
import { rounds, seeds } from "./seeds.ts";

it.each(seeds)("nothing is lost when processes are killed, seed %i", async (seed) => {
  const crashes = await surviveCrashes({ seed, rounds });
  console.log(`seed ${seed} killed ${crashes.join(", ")}`);
  expect(crashes).toHaveLength(rounds);
});
