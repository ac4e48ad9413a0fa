import { expect, onTestFinished } from "vitest";
import { serviceTest } from "./support/fixtures.ts";
import { createMailboxTarget } from "./support/items.ts";
import { startReceiver } from "./support/receiver.ts";
import { signUp } from "./support/testNode.ts";
import { organizationOf } from "./support/organization.ts";

/** By default the log has totals, so that many requests or refusals do not cause many lines. */

const items = 40;
const refusals = 60;

type Line = Record<string, unknown> & { msg: string };

const it = serviceTest().extend("linesOf", { scope: "test" }, ({ newService }) =>
  /** Runs a service through some items, refusals and failing attempts, and returns its log lines. */
  async (env: Record<string, string>): Promise<{ lines: Line[]; failingId: string }> => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.stop());
    const service = await newService({ LOG_LEVEL: "info", ...env });
    const account = await signUp(service);
    const mailbox = await createMailboxTarget(service, account);
    const owner = organizationOf(service, account, receiver);
    for (let n = 0; n < items; n++) await owner.send(mailbox);
    const key = `ak_live_${"0".repeat(64)}`;
    for (let n = 0; n < refusals; n++) await service.call("POST", `/t/${mailbox}`, { key, body: {} });
    receiver.answer = (_received, response) => void response.writeHead(500).end();
    const { id } = await owner.newTarget();
    await owner.settled(await owner.send(id), "RETRYING");
    service.kill("SIGTERM");
    await service.ended;
    const lines = service.output().match(/^\{.*\}$/gm) ?? [];
    return { lines: lines.map((line) => JSON.parse(line) as Line), failingId: id };
  },
);

it("starts, stops, refusals by kind and failing targets have one line each, however many there were", async ({
  linesOf,
}) => {
  const { lines, failingId } = await linesOf({});
  const of = (msg: string): Line[] => lines.filter((line) => line.msg === msg);
  expect(of("started")).toMatchObject([{ version: expect.any(String), port: expect.any(Number) }]);
  expect(of("stopping")).toHaveLength(1);
  expect(of("stopped")).toHaveLength(1);
  expect(of("request")).toEqual([]);
  expect(of("attempt")).toEqual([]);
  const counts = of("requests refused").map(({ refused }) => refused as Record<string, number>);
  const sum = counts.reduce((total, one) => total + (one["401 POST /t/:target_id"] ?? 0), 0);
  expect(sum).toBe(refusals);
  expect(counts.length).toBeLessThan(5);
  expect(of("targets failing")).toContainEqual(
    expect.objectContaining({
      targets: [expect.objectContaining({ target_id: failingId, attempts: 1, status: 500 })],
    }),
  );
});

it("with POSTRIDER_LOG_REQUESTS each request and each attempt has a line, too", async ({ linesOf }) => {
  const { lines, failingId } = await linesOf({ POSTRIDER_LOG_REQUESTS: "true" });
  const asked = lines.filter(({ msg, route }) => msg === "request" && route === "/t/:target_id");
  expect(asked.filter(({ status }) => status === 202)).toHaveLength(items + 1);
  expect(asked.filter(({ status }) => status === 401)).toHaveLength(refusals);
  const attempts = lines.filter(({ msg, target_id: id }) => msg === "attempt" && id === failingId);
  expect(attempts.filter(({ number }) => number === 1)).toMatchObject([{ status: 500 }]);
});
