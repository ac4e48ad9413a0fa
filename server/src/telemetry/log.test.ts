import { expect, test } from "vitest";
import { createLog } from "./log.ts";

function openLog() {
  const lines: { msg: string; cell?: number }[] = [];
  const destination = {
    write: (text: string): void => void lines.push(JSON.parse(text) as { msg: string }),
    flush: () => Promise.resolve(),
  };
  return { log: createLog("info", { destination }), lines };
}

test("a warning is written once in half a minute, however often a loop fails", async () => {
  const { log, lines } = openLog();
  for (let n = 0; n < 50; n++) log.warn({ err: new Error("the database is away") }, "trying again");
  log.warn({ err: new Error("the database is read-only") }, "trying again");
  log.warn({ err: new Error("the database is away"), cell: 2 }, "trying again");
  expect(lines.map(({ msg, cell }) => [msg, cell])).toEqual([
    ["trying again", undefined],
    ["trying again", undefined],
    ["trying again", 2],
  ]);
  // Ends the window.
  await log.flush();
  log.warn({ err: new Error("the database is away") }, "trying again");
  expect(lines).toHaveLength(4);
});

test("a fault that concerns many events is written once in half a minute, with one of them", () => {
  const { log, lines } = openLog();
  for (let n = 0; n < 50; n++) log.warn({ event_id: `e${n}`, target_id: "t" }, "sent again");
  log.warn({ event_id: "e50", target_id: "u" }, "sent again");
  expect(lines).toMatchObject([
    { event_id: "e0", target_id: "t" },
    { event_id: "e50", target_id: "u" },
  ]);
});

test("equal errors, such as PostgreSQL's lines about a full disk, are written once in half a minute", () => {
  const { log, lines } = openLog();
  for (let n = 0; n < 50; n++) log.error({}, "postgresql: FATAL:  could not write init file");
  log.error({}, "postgresql: PANIC:  could not write");
  expect(lines).toHaveLength(2);
});
