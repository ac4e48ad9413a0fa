import { describe, expect, onTestFinished, vi } from "vitest";
import { bucketOf, newId } from "../src/postgres/ids.ts";
import { type Answer, refusal } from "./support/testNode.ts";
import { countLockWaits, holdRows, holdTable } from "./support/heldLocks.ts";
import { until } from "./support/until.ts";
import { untilWaiting } from "./support/untilWaiting.ts";
import { file, sharedNodeTest } from "./support/fixtures.ts";
import { makeOlder } from "./support/passedTime.ts";
import { storeWaiting } from "./support/storedEvents.ts";
import { type WaitingRow, waitingRows } from "./support/storedItems.ts";
import { setDisabled } from "./support/storedStates.ts";
import { versionOfTarget } from "./support/unseenRows.ts";

const it = sharedNodeTest({ POSTRIDER_ROLES: "api" })
  .extend("targetOf", file, ({ node, account }) => async (kind: "webhook" | "mailbox"): Promise<string> => {
    const url = kind === "webhook" ? { url: "https://8.8.8.8/first" } : {};
    const body = { kind, name: "first", ...url };
    return (await node.call("POST", "/api/v1/targets", { key: account.api_key, body })).body.id;
  })
  .extend(
    "patch",
    file,
    ({ node, account }) =>
      (id: string, body: unknown): Promise<Answer> =>
        node.call("PATCH", `/api/v1/targets/${id}`, { key: account.api_key, body }),
  )
  .extend(
    "read",
    file,
    ({ node, account }) =>
      async (id: string): Promise<Record<string, unknown>> =>
        (await node.call("GET", `/api/v1/targets/${id}`, { key: account.api_key })).body,
  )
  .extend(
    "versionOf",
    file,
    ({ node }) =>
      (id: string): Promise<number> =>
        versionOfTarget(node.pool, id),
  )
  /** Stores waiting deliveries that were tried `attempts` times and are due `inMs` from now. */
  .extend(
    "storeWaiting",
    file,
    ({ node, account }) =>
      async (targetId: string, count: number, attempts: number, inMs: number): Promise<void> => {
        const ids = Array.from({ length: count }, () => newId(bucketOf(targetId), Date.now()));
        const events = { orgId: account.user.org_id, targetId, ids };
        await storeWaiting(node.pool, events, { attempts, dueAtMs: Date.now() + inMs });
      },
  )
  .extend("waiting", file, ({ node }) => (targetId: string): Promise<WaitingRow[]> => {
    return waitingRows(node.pool, [targetId]);
  });

describe("a change", () => {
  it.for([
    ["name", "second"],
    ["description", "what it is for"],
    ["description", ""],
    ["enabled", false],
    ["url", "https://8.8.8.8/second"],
    ["event_types", ["a", "b"]],
    ["max_payload_bytes", 100],
    ["max_retries", 0],
    ["retry_interval_seconds", 7],
  ] as const)(
    "of %s to %j keeps the other fields, and every node sees it",
    async ([field, value], { targetOf, node, read, versionOf, patch }) => {
      const id = await targetOf("webhook");
      await makeOlder(node.pool, 86_400, "targets", { id });
      const [before, version] = [await read(id), await versionOf(id)];
      const answer = await patch(id, { [field]: value, colour: "red" });
      expect(answer.status).toBe(200);
      const updatedAt = { updated_at: expect.closeTo(Date.now() / 1000, -3) };
      expect(answer.body).toEqual({ ...before, [field]: value, ...updatedAt });
      expect(await read(id)).toEqual(answer.body);
      expect(await versionOf(id)).toBeGreaterThan(version);
    },
  );

  it.for([
    ["nothing", {}],
    ["only what no target has", { colour: "red", id: "0".repeat(32), kind: "mailbox" }],
    ["an empty name", { name: "" }],
    ["null", { description: null }],
    ["enabled as text", { enabled: "false" }],
    ["a url inside the network", { url: "https://10.0.0.1/" }],
    ["one bad field among good ones", { name: "x", max_retries: 51 }],
  ] as const)("to %s is 400 and changes nothing", async ([_what, body], { targetOf, read, patch }) => {
    const id = await targetOf("webhook");
    const before = await read(id);
    expect(await patch(id, body)).toMatchObject({ status: 400, body: { error: expect.any(String) } });
    expect(await read(id)).toEqual(before);
  });

  it.for([
    ["url", "https://8.8.8.8"],
    ["max_retries", 3],
    ["event_types", ["a"]],
    ["result_target_id", null],
    ["agent_card_url", "https://8.8.8.8"],
  ] as const)(
    "of a mailbox's %s, a field that mailboxes lack, is 400 and changes nothing",
    async ([field, value], { targetOf, read, patch }) => {
      const id = await targetOf("mailbox");
      const before = await read(id);
      for (const changes of [{ [field]: value }, { [field]: value, name: "second" }]) {
        const refused = await patch(id, changes);
        expect(refused).toMatchObject({ status: 400, body: { error: expect.stringContaining("mailbox") } });
      }
      expect(await read(id)).toEqual(before);
    },
  );
});

describe("enabling a target again", () => {
  it("clears its failure record and gives everything that waits the full schedule, at once", async ({
    targetOf,
    node,
    read,
    storeWaiting,
    patch,
    waiting,
  }) => {
    const id = await targetOf("webhook");
    await setDisabled(node.pool, id, "every delivery failed for 5 days");
    expect(await read(id)).toMatchObject({ disabled_reason: "every delivery failed for 5 days" });
    // More than one chunk of deliveries that are due later, and of overdue ones.
    await storeWaiting(id, 4_500, 3, 3_600_000);
    await storeWaiting(id, 2_500, 2, -3_600_000);
    await storeWaiting(id, 100, 0, -7_200_000);
    const answer = await patch(id, { enabled: true });
    expect(answer).toMatchObject({ status: 200, body: { enabled: true } });
    expect(answer.body).not.toHaveProperty("disabled_reason");
    const rows = await waiting(id);
    expect(rows).toHaveLength(7_100);
    expect(rows.filter((row) => row.schedule_attempts !== 0 || row.due_at > Date.now())).toEqual([]);
    expect(rows.filter((row) => row.attempts === 3)).toHaveLength(4_500);
    const overdue = rows.filter((row) => row.due_at < Date.now() - 3_000_000);
    expect(overdue).toHaveLength(2_600);
    expect(await read(id)).not.toHaveProperty("failing_since");
  });

  it("does not change the schedule of a target that was already enabled, or of other targets", async ({
    targetOf,
    storeWaiting,
    waiting,
    patch,
  }) => {
    const [id, other] = [await targetOf("webhook"), await targetOf("webhook")];
    await storeWaiting(id, 3, 2, 3_600_000);
    await storeWaiting(other, 3, 2, 3_600_000);
    const before = [await waiting(id), await waiting(other)];
    await patch(id, { enabled: true });
    expect(await waiting(id)).toEqual(before[0]);
    await patch(id, { enabled: false });
    await patch(id, { enabled: true });
    expect(await waiting(other)).toEqual(before[1]);
    expect((await waiting(id)).map((row) => row.schedule_attempts)).toEqual([0, 0, 0]);
  });

  it("returns the number of waiting items", async ({ targetOf, patch, storeWaiting }) => {
    const id = await targetOf("webhook");
    await patch(id, { enabled: false });
    await storeWaiting(id, 3, 2, 3_600_000);
    await storeWaiting(id, 4, 0, -1_000);
    expect((await patch(id, { enabled: true })).body.held_items).toBe(7);
  });

  it("is refused with 503 when more items wait than one request discards, and continues with the next", async ({
    node,
    targetOf,
    patch,
    read,
    storeWaiting,
  }) => {
    const id = await targetOf("webhook");
    await patch(id, { enabled: false });
    await storeWaiting(id, 2_001, 0, -1_000);
    const letGo = await holdTable(node.pool, "settlements");
    const discarding = patch(id, { enabled: true, discard_held: true });
    await untilWaiting(node.pool, "cancel_deliveries");
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 20_001);
    onTestFinished(() => clock.mockRestore());
    await letGo();
    const { status, headers, body } = await discarding;
    clock.mockRestore();
    expect([status, headers["x-error-code"], headers["retry-after"]]).toEqual([
      503,
      "discard_unfinished",
      "1",
    ]);
    expect(body.error).toMatch(
      /^2000 items were discarded, more are waiting, and the target is still disabled/,
    );
    expect(await read(id)).toMatchObject({ enabled: false });
    expect(await patch(id, { enabled: true, discard_held: true })).toMatchObject({
      status: 200,
      body: { enabled: true, held_items: 1 },
    });
  });
});

it("a burst is refused if another request has removed the rate while it waited", async ({
  node,
  targetOf,
  patch,
  read,
}) => {
  const id = await targetOf("webhook");
  await patch(id, { rate_limit_per_second: 10 });
  const letGo = await holdRows(node.pool, "targets", { id });
  onTestFinished(letGo);
  const before = await countLockWaits(node.pool);
  const removal = patch(id, { rate_limit_per_second: null });
  await until(async () => (await countLockWaits(node.pool)) > before);
  const burst = patch(id, { rate_limit_burst: 5 });
  await until(async () => (await countLockWaits(node.pool)) > before + 1);
  await letGo();
  expect(await removal).toMatchObject({ status: 200 });
  expect(await burst).toMatchObject(refusal(400, "rate_limit_burst needs rate_limit_per_second"));
  expect(await read(id)).toMatchObject({ rate_limit_per_second: null, rate_limit_burst: null });
});
