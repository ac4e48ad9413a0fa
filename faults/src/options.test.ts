import { expect, it } from "vitest";
import { readOptions } from "./options.ts";

it("named seeds share one world, in the given order", () => {
  const { seeds, perWorld, isOneWorld } = readOptions(["--seeds", "14,3,9"], 0);
  expect([...seeds]).toEqual([14, 3, 9]);
  expect({ perWorld, isOneWorld }).toEqual({ perWorld: 3, isOneWorld: true });
});

it("without arguments there is one run in a world of its own, and with --soak the seeds are endless", () => {
  const one = readOptions(["--seed", "7"], 0);
  expect([...one.seeds]).toEqual([7]);
  expect(one).toMatchObject({ perWorld: 1, worlds: 1, cells: 1, isOneWorld: false });
  const seeds = readOptions(["--seed", "7", "--soak", "5"], 0).seeds[Symbol.iterator]();
  expect([seeds.next().value, seeds.next().value]).toEqual([7, 8]);
});

it("with Citus there are cells that move, and no disk is filled", () => {
  const onCitus = (...args: string[]) =>
    readOptions(args, 0, { TEST_CITUS_URL: "postgres://127.0.0.1/postgres" });
  const { cells, only, citusUrl } = onCitus();
  expect({ cells, citusUrl }).toEqual({ cells: 2, citusUrl: "postgres://127.0.0.1/postgres" });
  expect(only).toContain("move");
  expect(only).not.toContain("disk");
  expect(readOptions([], 0).only).not.toContain("move");
  expect(() => onCitus("--cells", "1")).toThrow("--cells is at least 2 with Citus");
});

it("a divided data plane has no upgrades, because the previous version does not start on it", () => {
  expect(readOptions(["--cells", "4", "--only", "kill,upgrade"], 0).only).toEqual(["kill"]);
  expect(() => readOptions(["--only", "murder"], 0)).toThrow('there is no "murder"');
  expect(() => readOptions(["--cells", "3"], 0)).toThrow('--cells is 1, 2, 4, 8 or 16, not "3"');
});
