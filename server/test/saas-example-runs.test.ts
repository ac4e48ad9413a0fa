import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "vitest";
import { loopbackTargets, serviceTest } from "./support/fixtures.ts";

const it = serviceTest(loopbackTargets);
const program = fileURLToPath(new URL("../../examples/saas.ts", import.meta.url));

it("the example of a SaaS tells 50 customers of 50 invoices with 50 calls", async ({ service }) => {
  const { stdout } = await promisify(execFile)(process.execPath, [program, "--url", service.url]);
  expect(stdout.trim().split("\n")).toEqual([
    "50 customers with 99 webhooks",
    "50 calls told them of 50 invoices: 99 deliveries, one of which failed",
    "the same call once more, as after a crash, sent nothing twice",
    expect.stringMatching(/^of shop-7's publication, the item [0-9a-f]{32} failed/),
    "a webhook that shop-7 added since got it, too",
  ]);
});
