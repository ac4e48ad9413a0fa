import type { Check } from "./check.ts";

/** 12. A replay of many makes one new event of each. */
export const replaysMakeOneEach: Check = (history, facts) => {
  const jobs = history.calls.filter(
    ({ operation, outcome }) => operation.op === "replay" && outcome !== "fail",
  );
  const bySource = Map.groupBy(
    facts.items.filter(({ sourceId }) => sourceId !== null),
    ({ sourceId }) => sourceId!,
  );
  return [...bySource]
    .filter(([, copies]) => copies.length > jobs.length)
    .map(([sourceId, copies]) => `${sourceId} was replayed ${copies.length} times by ${jobs.length} replays`);
};
