import { expect } from "vitest";
import type { Answer } from "./support/testNode.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" })
  .extend(
    "post",
    file,
    ({ node, account }) =>
      (fields: Record<string, unknown>, kind = "webhook"): Promise<Answer> => {
        const url = kind === "webhook" ? { url: "https://8.8.8.8/" } : {};
        return node.call("POST", "/api/v1/targets", {
          key: account.api_key,
          body: { kind, name: "t", ...url, ...fields },
        });
      },
  )
  .extend(
    "changesOf",
    file,
    ({ post, node, account }) =>
      async (fields: Record<string, unknown> = {}): Promise<(body: unknown) => Promise<Answer>> => {
        const { id } = (await post(fields)).body;
        return (body) => node.call("PATCH", `/api/v1/targets/${id}`, { key: account.api_key, body });
      },
  );

const none = { rate_limit_per_second: null, rate_limit_burst: null, max_concurrency: null };

it("are null by default, and are read as they were set", async ({ post, changesOf }) => {
  expect((await post({})).body).toMatchObject(none);
  const set = { rate_limit_per_second: 0.5, rate_limit_burst: 3, max_concurrency: 256 };
  expect((await post(set)).body).toMatchObject(set);
  const patch = await changesOf();
  expect((await patch(set)).body).toMatchObject(set);
  expect((await patch({ max_concurrency: 1 })).body).toMatchObject({ ...set, max_concurrency: 1 });
});

it("are removed with null, the burst together with its rate", async ({ changesOf }) => {
  const patch = await changesOf({ rate_limit_per_second: 7, rate_limit_burst: 3, max_concurrency: 2 });
  expect((await patch({ rate_limit_burst: null })).body).toMatchObject({
    rate_limit_per_second: 7,
    rate_limit_burst: null,
  });
  await patch({ rate_limit_burst: 4 });
  expect((await patch({ rate_limit_per_second: null })).body).toMatchObject({ ...none, max_concurrency: 2 });
  const refused = await patch({ rate_limit_burst: 4 });
  expect(refused).toMatchObject({
    status: 400,
    body: { error: "rate_limit_burst needs rate_limit_per_second" },
  });
  expect((await patch({ max_concurrency: null })).body).toMatchObject(none);
});

it.for<[string, unknown]>([
  ["rate_limit_per_second", 0],
  ["rate_limit_per_second", -1],
  ["rate_limit_per_second", 10_001],
  ["rate_limit_per_second", "50"],
  ["rate_limit_burst", 0],
  ["rate_limit_burst", 1.5],
  ["max_concurrency", 0],
  ["max_concurrency", 257],
  ["max_concurrency", true],
])("%s of %j is refused, naming the field", async ([field, value], { changesOf, post }) => {
  const patch = await changesOf({ rate_limit_per_second: 1 });
  for (const answer of [
    await post({ rate_limit_per_second: 1, [field]: value }),
    await patch({ [field]: value }),
  ]) {
    expect(answer).toMatchObject({ status: 400, body: { error: expect.stringContaining(field) } });
  }
});

it("do not apply to mailboxes, because nothing is sent to them", async ({ post }) => {
  expect(await post({ max_concurrency: 3 }, "mailbox")).toMatchObject({
    status: 400,
    body: { error: "max_concurrency does not apply to a mailbox target" },
  });
});
