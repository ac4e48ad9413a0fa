import { expect } from "vitest";
import { sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest();

it("counts of one organization's replays run one at a time, and are refused with 429 when too many wait; other organizations are not affected", async ({
  node,
  own: { account },
  account: other,
}) => {
  const body = { filter: { status: "FAILED" }, dry_run: true };
  const dryRun = (key: string) => node.call("POST", "/api/v1/replays", { key, body });
  const [asked, others] = await Promise.all([
    Promise.all(Array.from({ length: 40 }, () => dryRun(account.api_key))),
    dryRun(other.api_key),
  ]);
  expect(others.status).toBe(200);
  const refused = asked.filter(({ status }) => status === 429);
  expect(asked.filter(({ status }) => status === 200).length + refused.length).toBe(asked.length);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers, body: answer } of refused) {
    expect(headers).toMatchObject({
      "retry-after": "2",
      ratelimit: '"replay-counts";r=0;t=2',
      "ratelimit-policy": '"replay-counts";q=21;qu="concurrent-requests"',
    });
    expect(answer.error).toContain("too many concurrent requests");
  }
  // A place is free as soon as a count has ended.
  expect((await dryRun(account.api_key)).status).toBe(200);
});
