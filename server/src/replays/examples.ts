const replay = {
  id: "019a4b6c7d8e7f0011223344556677af",
  status: "RUNNING",
  filter: { target_id: "019a4b6c7d8e7f0011223344556677ac", status: "FAILED", created_after: 1_793_496_000 },
  include_replayed: false,
  rate_per_second: 100,
  total: 1200,
  replayed: 800,
  delivered: 764,
  failed: 2,
  skipped: 0,
  skipped_reasons: { still_waiting: 0, target_deleted: 0, mailbox_disabled: 0, expired: 0 },
  created_by: "ada@example.com",
  created_at: 1_793_500_000,
  finished_at: null,
};

/** Examples of replays of many events, by operation. */
export const examples = {
  startReplay: {
    request: {
      "What failed at one target": {
        filter: {
          target_id: "019a4b6c7d8e7f0011223344556677ac",
          status: "FAILED",
          created_after: 1_793_496_000,
        },
        rate_per_second: 100,
      },
      "How many that would be": { filter: { status: "FAILED" }, dry_run: true },
    },
    answer: { count: 1200, count_is_exact: true, sample: ["019a4b6c7d8e7f0011223344556677ad"] },
  },
  listReplays: { answer: { replays: [replay] } },
  readReplay: { answer: replay },
  cancelReplay: { answer: { ...replay, status: "CANCELED", finished_at: 1_793_500_008 } },
};
