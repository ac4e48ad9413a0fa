import { describe, expect } from "vitest";
import { until } from "../../server/test/support/until.ts";
import { clientTest as it } from "./support/clientTest.ts";

describe("a customer", () => {
  it("is created, listed, shown with its targets, given a link to its portal, and deleted", async ({
    service,
    postrider,
  }) => {
    const made = await postrider("customer put shop-7 --name Corner --metadata - --json", '{"plan": "gold"}');
    expect(made.json()[0]).toMatchObject({ uid: "shop-7", name: "Corner", metadata: { plan: "gold" } });
    expect((await postrider("customer list --names --prefix shop-")).out).toBe("shop-7\n");
    const created = await postrider("target create mailbox --name theirs --customer shop-7 --uid t-7 --json");
    expect(created.json()[0]).toMatchObject({ customer_uid: "shop-7", uid: "t-7" });
    const shown = await postrider("customer get shop-7");
    expect(shown.out).toMatch(/^uid +shop-7\n[^]*\n\nID [^\n]*\n\S+ +mailbox +true +theirs/);
    expect((await postrider("target list --names --customer shop-7")).out).toBe("theirs\n");

    const link = await postrider("customer portal-link shop-7");
    const [path, code] = new URL(link.out.trim()).href.split("#code=");
    expect(path).toMatch(/\/portal\/[0-9a-f]{32}$/);
    const session = await service.call("POST", "/api/v1/portal/sessions", { body: { code } });
    expect(session.status).toBe(200);
    expect((await postrider("customer end-portal shop-7 --json")).json()).toEqual([
      { ended_sessions: 1, ended_links: 0 },
    ]);

    expect((await postrider("customer delete shop-7")).code).toBe(2);
    const gone = await postrider("customer delete shop-7 --yes --json");
    expect(gone.json()).toEqual([{ uid: "shop-7", deleted: true, deleted_targets: 1 }]);
    expect((await postrider("customer get shop-7")).code).toBe(4);
  });
});

it("a number that JavaScript would round is refused", async ({ postrider, inFile }) => {
  const put = await postrider("customer put shop-8 --metadata -", '{"ids": [1, 12345678901234567890]}');
  expect(put).toMatchObject({
    code: 2,
    err: expect.stringMatching(
      /the metadata\.ids\.1 is a whole number beyond 9007199254740991, .*: give it as a string/,
    ),
  });
  // A double has fewer digits than this number, and the last one is lost.
  const short = await postrider("customer put shop-8 --metadata -", '{"id": 10000000000000001}');
  expect([short.code, short.err]).toEqual([2, expect.stringContaining("the metadata.id is a whole number")]);
  expect((await postrider("customer get shop-8")).code).toBe(4);
  const sample = inFile("sample.json", { amount: 1 });
  const tried = await postrider(`filter try ${sample} --filter -`, '{"payload": {"amount": [1e400]}}');
  expect(tried).toMatchObject({
    code: 2,
    err: expect.stringMatching(/the filter\.payload\.amount\.0 is a number beyond 1\.79e308/),
  });
  const large = '{"payload": {"amount": [{"numeric": ["<", 9223372036854775807]}]}}';
  expect((await postrider(`filter try ${sample} --filter -`, large)).code).toBe(0);
  const kept = { most: 9007199254740991, large: 1e300 };
  const made = await postrider("customer put shop-8 --metadata - --json", JSON.stringify(kept));
  expect(made.json()[0]).toMatchObject({ metadata: kept });
});

describe("a filter", () => {
  const filter = { payload: { amount: [{ numeric: [">=", 100] }] } };

  it("is tried from a file, and then as the filter of a target", async ({ postrider, inFile }) => {
    const file = inFile("filter.json", filter);
    const large = await postrider(`filter try - --filter ${file}`, '{"amount": 100}');
    expect(large).toMatchObject({ code: 0, out: "matches\n", err: "" });
    const small = await postrider(`filter try - --filter ${file}`, '{"amount": 80}');
    expect(small).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^differs\npayload\.amount {2}expected .*, found 80\n$/),
    });
    await postrider("target create mailbox --name filtered");
    expect(await postrider("filter try - --target filtered", "{}")).toMatchObject({
      code: 5,
      err: expect.stringMatching(/has no filter/),
    });
    const set = await postrider(`target set filtered --filter ${file} --description large --json`);
    expect(set.json()[0]).toMatchObject({ name: "filtered", filter, description: "large" });
    const typed = await postrider("filter try - --target filtered --event-type a.b --json", "{}");
    expect(typed.json()[0]).toMatchObject({ verdict: "differs", failed: [{ path: "payload.amount" }] });
    const [{ id }] = (await postrider("send filtered - --json", '{"amount": 80}')).json();
    expect((await postrider(`item get ${id} --json`)).json()[0]).toMatchObject({
      event: { status: "FILTERED" },
    });
    await postrider("target set filtered --filter -", "null");
    expect((await postrider("target get filtered --json")).json()[0].filter).toBeUndefined();
  });

  it.for([
    ["no filter", "filter try -", "{}", /--target or --filter/],
    ["two filters", "filter try - --target a --filter b", "{}", /one filter/],
    ["one input for two", "filter try - --filter -", "{}", /only once/],
    ["a sample that is no JSON", "filter try - --filter /dev/null", "{", /the filter is not valid JSON/],
    ["nothing to change", "target set filtered", "", /name a field to change/],
  ] as const)("is not tried with %s", async ([, line, input, text], { postrider }) => {
    expect(await postrider(line, input)).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(text),
    });
  });
});

describe("a sent item", () => {
  it("is canceled while it waits, replayed by a job that shows its progress, erased, and counted", async ({
    postrider,
    inFile,
  }) => {
    const headers = inFile("headers.json", { "X-Tenant": { value: "t", secret: false }, "X-Key": "hidden" });
    const url = "--url https://hooks.example.com/a";
    const made = await postrider(`target create webhook --name away ${url} --headers ${headers} --json`);
    expect(made.json()[0].headers).toEqual({ "X-Tenant": { value: "t", secret: false }, "X-Key": "***" });
    await postrider("target disable away");
    const [{ id }] = (await postrider("send away - --json", "{}")).json();
    expect((await postrider(`item cancel ${id}`)).out).toBe(`${id}  CANCELED\n`);
    const [job] = (await postrider("replay --target away --status CANCELED --rate 1 --json")).json();
    const shown = async (): Promise<{ status: string }> =>
      (await postrider(`replay-job get ${job.id} --json`)).json()[0];
    await until(shown, ({ status }) => status === "DONE");
    expect((await postrider("replay-job list")).out).toMatch(new RegExp(`\n${job.id}  .* DONE +1 +1 `));
    expect((await postrider(`item erase ${id}`)).code).toBe(2);
    expect((await postrider(`item erase ${id} --yes --json`)).json()[0]).toMatchObject({ event_id: id });
    const counted = async (): Promise<{ totals: { accepted: number } }> =>
      (await postrider("stats --target away --since 1h --step 3600 --json")).json()[0];
    await until(counted, ({ totals }) => totals.accepted === 2);
    expect((await postrider("stats --since 1h")).out).toMatch(/^BEGINS_AT +ACCEPTED .*\n[^]*\naccepted +\d/);
  });
});
