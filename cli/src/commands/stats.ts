import type { Command, Input } from "../command.ts";
import { readTime } from "./eventFilter.ts";
import type { Session } from "../session.ts";
import { targetId } from "./chooseTarget.ts";

const steps = ["60", "300", "3600", "86400"] as const;

export const statsCommand: Command = {
  name: "stats",
  summary: "count accepted, delivered and failed items over time",
  options: {
    target: { value: "TARGET", help: "only this target" },
    since: { value: "TIME", help: "start, such as 15m, 2h, 3d or 2026-11-22; default: 1d" },
    until: { value: "TIME", help: "end; default: now" },
    step: {
      value: "SECONDS",
      choices: steps,
      help: "time covered by each line; default: depends on the range",
    },
  },
  run: stats,
};

async function stats({ out, connect }: Session, input: Input): Promise<void> {
  const [since, until, step] = [input.text("since"), input.text("until"), input.text("step")];
  const nowMs = Date.now();
  const range = { from: readTime("since", since, nowMs), to: readTime("until", until, nowMs) };
  const { client } = await connect();
  const target = input.text("target");
  const answer = await client.readStats({
    ...range,
    step: step === undefined ? undefined : Number(step),
    target_id: target === undefined ? undefined : await targetId(client, target),
  });
  if (out.isJson) {
    out.one(answer);
    return;
  }
  const rows = answer.points.map(({ at, latency_ms, ...counts }) => ({
    begins_at: at,
    ...counts,
    p95_ms: latency_ms?.p95,
  }));
  out.list(rows, ["begins_at", "accepted", "delivered", "retried", "failed", "p95_ms"]);
  if (rows.length > 0) out.raw("\n");
  out.one(answer.totals);
}
