import { describe, expect, it } from "vitest";
import type { AgentAnswer } from "../agent/callAgent.ts";
import { type AnswerMeaning, classifyAnswer } from "./classifyAnswer.ts";
import { noMask } from "../agent/agent.ts";

const meaningOf = (answer: AgentAnswer): AnswerMeaning => classifyAnswer(answer, noMask);

function refused(status: number, reason: string | null = null): AgentAnswer {
  return {
    kind: "refused",
    status,
    reason,
    message: `the agent answered ${status}`,
    durationMs: 1,
    retryAfter: null,
    body: Buffer.alloc(0),
  };
}

function failed(sent: boolean, code: "reset" | "timeout" | "connect_refused" | "other"): AgentAnswer {
  return { kind: "failed", error: { kind: "error", code, message: "it failed", durationMs: 1, sent } };
}

describe("an answer to a message means", () => {
  it.each<[number, string | null, string]>([
    [400, null, "failed"],
    [400, "CONTENT_TYPE_NOT_SUPPORTED", "failed"],
    [401, null, "retry"],
    [403, null, "retry"],
    [404, "TASK_NOT_FOUND", "failed"],
    [408, null, "retry"],
    [409, null, "failed"],
    [413, null, "failed"],
    [415, null, "failed"],
    [429, null, "retry"],
    [503, null, "retry"],
    [302, null, "retry"],
  ])("%i %s: declined, %s", (status, reason, outcome) => {
    expect(meaningOf(refused(status, reason))).toMatchObject({
      kind: "declined",
      outcome: { kind: outcome },
    });
  });

  it.each<[number, string | null, string]>([
    [400, "VERSION_NOT_SUPPORTED", "failed"],
    [404, null, "retry"],
    [405, null, "retry"],
    [410, null, "gone"],
    [501, null, "retry"],
  ])("%i %s: the card is read again, and without news %s", (status, reason, outcome) => {
    expect(meaningOf(refused(status, reason))).toMatchObject({
      kind: "moved",
      outcome: { kind: outcome },
      unsure: { kind: "retry" },
    });
  });

  it.each([500, 502, 504])("%i: the agent may have begun the work", (status) => {
    expect(meaningOf(refused(status))).toMatchObject({ kind: "unclear", isNow: false });
  });

  it("that requests for more time do not count toward disabling the target", () => {
    for (const [status, counts] of [
      [429, false],
      [503, false],
      [401, true],
      [404, true],
    ] as const) {
      expect(meaningOf(refused(status))).toMatchObject({ outcome: { countsTowardDisabling: counts } });
    }
  });

  it("that a message may be sent again if no byte of it arrived, and otherwise its task must be looked for", () => {
    expect(meaningOf(failed(false, "connect_refused"))).toMatchObject({
      kind: "declined",
      outcome: { kind: "retry", countsTowardDisabling: true },
    });
    expect(meaningOf(failed(false, "other"))).toMatchObject({ outcome: { countsTowardDisabling: false } });
    expect(meaningOf(failed(true, "reset"))).toMatchObject({ kind: "unclear", isNow: true });
    expect(meaningOf(failed(true, "timeout"))).toMatchObject({ kind: "unclear", slowDown: true });
  });

  it("nothing certain if a success does not follow the protocol", () => {
    const body = Buffer.alloc(0);
    expect(meaningOf({ kind: "answered", status: 200, durationMs: 1, value: {}, body })).toMatchObject({
      kind: "unclear",
      error: "the agent's answer (200) has neither $.task nor $.message",
    });
    expect(
      meaningOf({ kind: "garbled", status: 204, durationMs: 1, problem: "is not JSON", body }),
    ).toMatchObject({ kind: "unclear" });
  });
});
