import { describe, expect } from "vitest";
import { sendItems } from "./support/items.ts";
import { replayJobs } from "./support/replayJobs.ts";
import { organizationOf } from "./support/organization.ts";
import { sharedStartedNodeTest } from "./support/fixtures.ts";
import { signUp } from "./support/testNode.ts";

const it = sharedStartedNodeTest().extend("jobs", ({ own, node, receiver }) =>
  replayJobs(own, node, receiver),
);

describe("replays of many events", () => {
  it("are listed newest first, page by page, to their owner only", async ({ own, jobs, node, receiver }) => {
    const target = await own.newTarget();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      ids.unshift(await jobs.started({ target_id: target.id }));
      await jobs.ended(ids[0]!);
    }
    const page = async (query: string): Promise<string[]> =>
      (await own.call("GET", `/api/v1/replays?${query}`)).body.replays.map(({ id }: { id: string }) => id);
    expect(await page("")).toEqual(ids);
    expect(await page("limit=2")).toEqual(ids.slice(0, 2));
    expect(await page(`limit=2&before=${ids[1]}`)).toEqual(ids.slice(2, 4));
    const other = organizationOf(node, await signUp(node), receiver);
    expect((await other.call("GET", "/api/v1/replays")).body.replays).toEqual([]);
    expect((await other.call("GET", `/api/v1/replays/${ids[0]}`)).status).toBe(404);
    expect((await other.call("POST", `/api/v1/replays/${ids[0]}/cancel`)).status).toBe(404);
    expect((await replayJobs(other, node, receiver).start({ target_id: target.id })).status).toBe(404);
  });

  it("that are done are not canceled: 409", async ({ own, jobs }) => {
    const target = await own.newTarget();
    const id = await jobs.started({ target_id: target.id });
    await jobs.ended(id);
    const { status, headers } = await own.call("POST", `/api/v1/replays/${id}/cancel`);
    expect([status, headers["x-error-code"]]).toEqual([409, "replay_ended"]);
  });

  it("run at most five at a time: one more is 409", async ({ own, jobs, node }) => {
    const target = await own.newTarget();
    const ids = await sendItems(node, own.account, target.id, 3);
    await Promise.all(ids.map((one) => own.settled(one, "DELIVERED")));
    const slow = { rate_per_second: 1 };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => jobs.start({ target_id: target.id, status: "DELIVERED" }, slow)),
    );
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status === 409);
    expect(refused.map(({ headers }) => headers["x-error-code"])).toEqual(Array(3).fill("too_many_replays"));
    for (const { body, status } of answers) {
      if (status === 202) await own.call("POST", `/api/v1/replays/${body.id}/cancel`);
    }
  });

  it.for<[object, string]>([
    [{ filter: { status: "QUEUED" } }, "filter.status must be one of DELIVERED, FAILED"],
    [{ filter: { status: "UNREAD" } }, "filter.status must be one of"],
    [{ filter: { target: "x" } }, "is not a field of a replay filter: the fields are target_id"],
    [{ filter: { target_ids: "x" } }, "did you mean target_id?"],
    [{ filter: { target_id: "x" } }, "filter.target_id must be 32 lower-case hexadecimal characters"],
    [
      { filter: { created_after: "2026-11-29T00:00:00Z" } },
      "filter.created_after must be an integer: a time in Unix seconds",
    ],
    [{ filter: {}, rate_per_second: 0 }, "rate_per_second must be at least 1"],
    [{ filter: {}, rate_per_second: 1001 }, "rate_per_second must be at most 1000"],
    [{ filter: {}, rate_per_second: 1.5 }, "rate_per_second must be an integer"],
    [{ filter: {}, dry_run: "yes" }, "dry_run must be a boolean"],
    [{}, "filter is required"],
  ])("of %j are refused: 400", async ([body, message], { own }) => {
    const answer = await own.call("POST", "/api/v1/replays", body);
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(message) } });
  });
});
