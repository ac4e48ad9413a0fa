import type { AttemptLine, RequestLine } from "./log.ts";

/** Time from the first occurrence until the digest is written. */
const windowMs = 30_000;
/** Requests that take longer count as slow, except on routes that wait by design. */
const slowMs = 1_000;
/** Maximum number of different entries that a line lists; further ones are only counted. */
const maxNamed = 10;
/** Maximum number of different entries kept in a window. */
const maxKept = 1_000;

/** Routes that wait by design: for messages, a receiver, a tool call or changes. */
const waitingRoutes = new Set([
  "/api/v1/mailboxes/:mailbox_id/claim",
  "/api/v1/targets/:id/test",
  "/api/v1/stream",
  "/mcp",
]);

interface Slow {
  request_id: string;
  method: string;
  route: string;
  status: number;
  duration_ms: number;
}

interface FailingTarget {
  target_id: string;
  org_id: string;
  attempts: number;
  status: number;
  error: string | null;
}

/**
 * Sums for operators, so that a flood of refusals does not become a flood of log lines: refusals by route and status, failed
 * attempts by target, and slow requests. At most one line of each kind is written in half a minute, and none if nothing
 * occurred. A fast, accepted request or a successful attempt costs two comparisons.
 */
export function createLogDigest(write: (fields: object, message: string) => void) {
  let refused = new Map<string, number>();
  let failing = new Map<string, FailingTarget>();
  let slow: { count: number; slowest: Slow } | undefined;
  let faults = new Set<string>();
  /** Counts of entries beyond the limit. */
  let others = { refused: 0, failing: 0 };
  let timer: NodeJS.Timeout | undefined;

  /** Writes the collected sums. */
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    faults = new Set();
    if (refused.size > 0) write(describeRefused(refused, others.refused), "requests refused");
    if (failing.size > 0) write(describeFailing(failing, others.failing), "targets failing");
    if (slow !== undefined) write(slow, "slow requests");
    refused = new Map();
    failing = new Map();
    others = { refused: 0, failing: 0 };
    slow = undefined;
  }

  function arm(): void {
    timer ??= setTimeout(flush, windowMs).unref();
  }

  return {
    request({ id, method, routePath }: RequestLine, status: number, durationMs: number): void {
      if (status < 400 && durationMs < slowMs) return;
      arm();
      if (status >= 400) {
        const kind = `${status} ${method} ${routePath}`;
        if (refused.has(kind) || refused.size < maxKept) refused.set(kind, (refused.get(kind) ?? 0) + 1);
        else others.refused++;
      }
      if (durationMs < slowMs || waitingRoutes.has(routePath)) return;
      const one = { request_id: id, method, route: routePath, status, duration_ms: Math.round(durationMs) };
      if (slow === undefined) slow = { count: 0, slowest: one };
      slow.count++;
      if (one.duration_ms > slow.slowest.duration_ms) slow.slowest = one;
    },
    attempt({ outcome, targetId, orgId, statusCode, error }: AttemptLine): void {
      if (outcome === "delivered" || outcome === "stale") return;
      arm();
      let target = failing.get(targetId);
      if (target === undefined) {
        if (failing.size >= maxKept) {
          others.failing++;
          return;
        }
        target = { target_id: targetId, org_id: orgId, attempts: 0, status: 0, error: null };
        failing.set(targetId, target);
      }
      target.attempts++;
      target.status = statusCode;
      target.error = error;
    },
    /** Whether a fault with this text is the first in the current window. Repetitions are only counted. */
    isFirst(text: string): boolean {
      arm();
      if (faults.has(text) || faults.size >= maxKept) return false;
      faults.add(text);
      return true;
    },
    /** Whether a line with this text was already written in the current window. Lines beyond the kept number are new. */
    isRepeated(text: string): boolean {
      arm();
      if (faults.has(text)) return true;
      if (faults.size < maxKept) faults.add(text);
      return false;
    },
    flush,
  };
}

function describeRefused(refused: ReadonlyMap<string, number>, unkept: number): object {
  const kinds = [...refused].sort(([, a], [, b]) => b - a);
  const rest = kinds.slice(maxNamed).reduce((sum, [, count]) => sum + count, unkept);
  return { refused: Object.fromEntries(kinds.slice(0, maxNamed)), ...(rest > 0 && { others: rest }) };
}

function describeFailing(failing: ReadonlyMap<string, FailingTarget>, unkept: number): object {
  const targets = [...failing.values()].sort((a, b) => b.attempts - a.attempts);
  const rest = targets.slice(maxNamed).reduce((sum, { attempts }) => sum + attempts, unkept);
  return { targets: targets.slice(0, maxNamed), ...(rest > 0 && { other_attempts: rest }) };
}
