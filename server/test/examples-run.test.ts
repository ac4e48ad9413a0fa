import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { loopbackTargets, serviceTest } from "./support/fixtures.ts";

const it = serviceTest(loopbackTargets);

/** Runs an example against a service, and returns the lines that it prints. */
async function linesOf(example: string, url: string): Promise<string[]> {
  const program = fileURLToPath(new URL(`../../examples/${example}.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, "--url", url]);
  return stdout.trim().split("\n");
}

it("the demo shows a webhook from signup to replay", async ({ service }) => {
  const lines = await linesOf("demo", service.url);
  expect(lines.at(-1)).toMatch(/^Done: 3 items accepted and metered/);
});

it("the SaaS example sends 50 invoices to 50 customers with 50 calls", async ({ service }) => {
  expect(await linesOf("saas", service.url)).toEqual([
    "50 customers with 99 webhooks",
    "50 calls told them of 50 invoices: 99 deliveries, one of which failed",
    "the same call once more, as after a crash, sent nothing twice",
    expect.stringMatching(/^of shop-7's publication, the item [0-9a-f]{32} failed/),
    "a webhook that shop-7 added since got it, too",
  ]);
});
