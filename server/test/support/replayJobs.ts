import { expect } from "vitest";
import { sendItems } from "./items.ts";
import { answerOk, type Receiver } from "./receiver.ts";
import type { Answer, TestNode } from "./testNode.ts";
import { until } from "./until.ts";
import type { NewTarget, Organization } from "./organization.ts";

/** Replays of many events in an organization. */
export interface ReplayJobs {
  start(filter: object, more?: object): Promise<Answer>;
  /** Starts a replay that must be accepted, and returns its id. */
  started(filter: object, more?: object): Promise<string>;
  read(id: string): Promise<Answer["body"]>;
  /** Resolves when everything was replayed and the new events have ended. */
  ended(id: string): Promise<Answer["body"]>;
  /** Creates items of the target that have failed permanently: less than ten, which would open its circuit. */
  failedItems(target: NewTarget, count: number): Promise<string[]>;
  listed(query: string): Promise<{ id: string; status: string }[]>;
  /** Ids of the source events of the replays that arrived at the target. */
  sourcesOf(target: NewTarget): string[];
}

/** The counts of skipped events by reason, all 0. */
export const noneSkipped = { still_waiting: 0, target_deleted: 0, mailbox_disabled: 0, expired: 0 };

export function replayJobs(own: Organization, node: TestNode, receiver: Receiver): ReplayJobs {
  const jobs: ReplayJobs = {
    start: (filter, more = {}) =>
      own.call("POST", "/api/v1/replays", { filter, rate_per_second: 1000, ...more }),
    async started(filter, more) {
      const answer = await jobs.start(filter, more);
      expect(answer.status).toBe(202);
      return answer.body.id;
    },
    read: async (id) => (await own.call("GET", `/api/v1/replays/${id}`)).body,
    ended: (id) =>
      until(
        () => jobs.read(id),
        (job) => job.status === "DONE" && job.delivered + job.failed === job.replayed,
      ),
    async failedItems({ id }, count) {
      receiver.answer = (_received, response) => response.writeHead(500).end();
      const ids = await sendItems(node, own.account, id, count);
      await Promise.all(ids.map((one) => own.settled(one, "FAILED")));
      receiver.answer = answerOk;
      return ids.sort();
    },
    listed: async (query) => (await own.call("GET", `/api/v1/events?limit=100&${query}`)).body.events,
    sourcesOf: ({ path }) =>
      receiver
        .at(path)
        .flatMap(({ headers }) => headers["x-source-event-id"] ?? [])
        .map(String)
        .sort(),
  };
  return jobs;
}
