/** Examples of figures over time, by operation. */
export const examples = {
  readStats: {
    answer: {
      from: 1_793_496_000,
      to: 1_793_503_200,
      step: 3600,
      points: [
        {
          at: 1_793_499_600,
          accepted: 1200,
          delivered: 1188,
          retried: 31,
          failed: 2,
          latency_ms: { p50: 12, p95: 44, p99: 220 },
        },
      ],
      totals: {
        accepted: 1200,
        delivered: 1188,
        retried: 31,
        failed: 2,
        latency_ms: { p50: 12, p95: 44, p99: 220 },
      },
    },
  },
  readTargetHealth: {
    answer: {
      target_id: "019a4b6c7d8e7f0011223344556677ac",
      kind: "webhook",
      enabled: true,
      disabled_reason: null,
      circuit: "open",
      in_flight: 0,
      due: 214,
      due_is_exact: true,
      oldest_due_at: 1_793_499_940,
      oldest_due_seconds: 60,
      success_rate_24h: 0.974,
      failing_since: 1_793_499_930,
      last_attempt_at: 1_793_499_998,
      last_success_at: 1_793_499_929,
      held: 0,
    },
  },
};
