import pg from "pg";
import { type BenchService, startService } from "./benchService.ts";
import { atMost, type BenchSize, type Figure, whole } from "./figures.ts";
import { summarize } from "./load.ts";
import { fillHistory, type History } from "./history.ts";
import { inTemporaryDirectory } from "./workload.ts";

const storedEvents = 10_000_000;
const quickEvents = 1_000_000;
/** Number of requests per question, sent one at a time. */
const times = 100;
/**
 * Warm-up requests per question: V8 compiles code after some runs, and the first answer reads old days from disk. The times of
 * the first answer and of the slowest warm-up answer are printed beside the figures.
 */
const warmingTimes = 30;
/** The goal of statistics and health, which count no rows. */
const statisticsMs = 20;
/** The goal of lists and the audit log: people perceive this time as immediate. */
const listMs = 100;

/** The latency of statistics, health and lists with ten million stored events and a million audit entries. */
export async function tenMillionFigures(size: BenchSize): Promise<Figure[]> {
  // `--quick` sets fewer items to drain.
  const events = size.drainItems < 50_000 ? quickEvents : storedEvents;
  return inTemporaryDirectory(async (dataDir) => {
    // Without a dispatcher, because it would send the stored items that are due.
    const service = await startService({ dataDir, roles: "api" });
    try {
      const pool = new pg.Pool({ ...service.connection, max: 1 });
      const history = await fillHistory(pool, events);
      await pool.end();
      return [
        { name: "stored events", value: whole(events) },
        ...(await answersTo(questionsOf(history), service, history.key)),
      ];
    } finally {
      await service.stop();
    }
  });
}

/** Asks all questions in turn, so that background load affects each equally. */
async function answersTo(
  questions: readonly Question[],
  service: BenchService,
  key: string,
): Promise<Figure[]> {
  const tookMs = questions.map((): number[] => []);
  for (let round = 0; round < warmingTimes + times; round++)
    for (const [index, { path }] of questions.entries()) tookMs[index]!.push(await ask(service, key, path));
  return questions.map(({ name, goalMs }, index) => {
    const { p95, p50 } = summarize(tookMs[index]!.slice(warmingTimes), 0, 1);
    const warming = tookMs[index]!.slice(0, warmingTimes);
    const before = `first ${whole(warming[0]!)}, slowest of the first ${warmingTimes} ${whole(Math.max(...warming))}`;
    const value = `${p95.toFixed(1)} ms (p50 ${p50.toFixed(1)}, ${before})`;
    return { ...atMost(`${name}, p95`, p95, goalMs), value };
  });
}

/** A request, and the name of its figure. */
interface Question {
  name: string;
  path: string;
  goalMs: number;
}

type Named = Omit<Question, "goalMs">;

function questionsOf(history: History): Question[] {
  return [
    ...statistics(history).map(({ name, path }) => ({ name, path, goalMs: statisticsMs })),
    ...[...lists(history), ...auditLog(history)].map(({ name, path }) => ({ name, path, goalMs: listMs })),
  ];
}

function statistics({ webhookId, lateWebhookId, mailboxId, nowSeconds }: History): Named[] {
  const last = (days: number, step: number): string => `from=${nowSeconds - days * 86_400}&step=${step}`;
  return [
    { name: "stats of the last day", path: "/api/v1/stats" },
    { name: "stats, 1,440 minutes", path: `/api/v1/stats?${last(1, 60)}` },
    { name: "stats, 1,440 hours", path: `/api/v1/stats?${last(60, 3600)}` },
    { name: "stats, 1,000 days", path: `/api/v1/stats?${last(1_000, 86_400)}` },
    { name: "stats of a target, 1,440 minutes", path: `/api/v1/stats?target_id=${webhookId}&${last(1, 60)}` },
    { name: "health of a target", path: `/api/v1/targets/${webhookId}/health` },
    { name: "health of a target with a backlog", path: `/api/v1/targets/${lateWebhookId}/health` },
    { name: "health of a mailbox", path: `/api/v1/targets/${mailboxId}/health` },
  ];
}

function lists(history: History): Named[] {
  const { webhookId, lateWebhookId, mailboxId, correlationId, rareType, middleId } = history;
  const list = (query: string): string => `/api/v1/events?${query}`;
  return [
    { name: "events", path: list("limit=100") },
    { name: "DELIVERED of a target", path: list(`target_id=${webhookId}&status=DELIVERED`) },
    { name: "the same, oldest first", path: list(`target_id=${webhookId}&status=DELIVERED&order=asc`) },
    {
      name: "the same, from the middle",
      path: list(`target_id=${webhookId}&status=DELIVERED&before=${middleId}`),
    },
    {
      name: "the same of a target whose newest wait",
      path: list(`target_id=${lateWebhookId}&status=DELIVERED`),
    },
    { name: "a correlation id", path: list(`correlation_id=${correlationId}`) },
    { name: "a correlation id, DELIVERED", path: list(`correlation_id=${correlationId}&status=DELIVERED`) },
    { name: "a correlation id, FAILED", path: list(`correlation_id=${correlationId}&status=FAILED`) },
    { name: "a correlation id, RETRYING", path: list(`correlation_id=${correlationId}&status=RETRYING`) },
    { name: "a correlation id, FILTERED", path: list(`correlation_id=${correlationId}&status=FILTERED`) },
    { name: "a correlation id, DEAD", path: list(`correlation_id=${correlationId}&status=DEAD`) },
    { name: "a rare type", path: list(`event_type=${rareType}`) },
    { name: "a rare type, FAILED", path: list(`event_type=${rareType}&status=FAILED`) },
    { name: "DEAD of all mailboxes", path: list("status=DEAD") },
    { name: "DEAD of a mailbox", path: list(`target_id=${mailboxId}&status=DEAD`) },
    { name: "dead messages of a mailbox", path: `/api/v1/mailboxes/${mailboxId}/messages?status=DEAD` },
    {
      name: "events with all opt-in columns",
      path: list("limit=100&fields=attempts,last_status_code,next_attempt_at,duration_ms"),
    },
  ];
}

function auditLog({ actorId, objectId, nowSeconds }: History): Named[] {
  const list = (query: string): string => `/api/v1/audit-log?${query}`;
  return [
    { name: "audit log", path: list("limit=100") },
    { name: "audit log by a rare action", path: list("action=key.deleted") },
    { name: "audit log by actor", path: list(`actor_id=${actorId}`) },
    { name: "audit log by actor and a rare action", path: list(`actor_id=${actorId}&action=key.deleted`) },
    { name: "audit log by object", path: list(`object_id=${objectId}`) },
    { name: "audit log of a day long ago", path: list(`created_before=${nowSeconds - 60 * 86_400}`) },
  ];
}

/** @returns the time until the whole answer was read, in milliseconds. */
async function ask(service: BenchService, key: string, path: string): Promise<number> {
  const startedAt = performance.now();
  const answer = await fetch(`http://127.0.0.1:${service.port}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return performance.now() - startedAt;
}
