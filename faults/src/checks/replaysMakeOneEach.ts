import type { Check } from "./check.ts";

/** Promise 12: a replay of many creates one new event for each event that it replays. */
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
