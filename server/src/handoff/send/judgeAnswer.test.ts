import { describe, expect, it } from "vitest";
import type { AgentAnswer } from "../agent/callAgent.ts";
import { judgeAnswer, type Judgement } from "./judgeAnswer.ts";
import { noMask } from "../agent/credentialMask.ts";

const judge = (answer: AgentAnswer): Judgement => judgeAnswer(answer, noMask);

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
    expect(judge(refused(status, reason))).toMatchObject({ kind: "declined", verdict: { outcome } });
  });

  it.each<[number, string | null, string]>([
    [400, "VERSION_NOT_SUPPORTED", "failed"],
    [404, null, "retry"],
    [405, null, "retry"],
    [410, null, "gone"],
    [501, null, "retry"],
  ])("%i %s: the card is read again, and without news %s", (status, reason, outcome) => {
    expect(judge(refused(status, reason))).toMatchObject({
      kind: "moved",
      verdict: { outcome },
      unsure: { outcome: "retry" },
    });
  });

  it.each([500, 502, 504])("%i: the work may have been begun", (status) => {
    expect(judge(refused(status))).toMatchObject({ kind: "unclear", isNow: false });
  });

  it("that only asking for time is no reason to disable the target", () => {
    for (const [status, counts] of [
      [429, false],
      [503, false],
      [401, true],
      [404, true],
    ] as const) {
      expect(judge(refused(status))).toMatchObject({ verdict: { countsTowardDisabling: counts } });
    }
  });

  it("that it may be sent freely when nothing of it arrived, and must be looked for otherwise", () => {
    expect(judge(failed(false, "connect_refused"))).toMatchObject({
      kind: "declined",
      verdict: { outcome: "retry", countsTowardDisabling: true },
    });
    expect(judge(failed(false, "other"))).toMatchObject({ verdict: { countsTowardDisabling: false } });
    expect(judge(failed(true, "reset"))).toMatchObject({ kind: "unclear", isNow: true });
    expect(judge(failed(true, "timeout"))).toMatchObject({ kind: "unclear", slowDown: true });
  });

  it("nothing clear when a success is not the protocol's", () => {
    const body = Buffer.alloc(0);
    expect(judge({ kind: "answered", status: 200, durationMs: 1, value: {}, body })).toMatchObject({
      kind: "unclear",
      error: "the agent's answer (200) has neither $.task nor $.message",
    });
    expect(
      judge({ kind: "garbled", status: 204, durationMs: 1, problem: "is not JSON", body }),
    ).toMatchObject({ kind: "unclear" });
  });
});
