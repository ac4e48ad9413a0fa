import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCredentialMask, noMask } from "./agent.ts";
import { readSendAnswer, readTask, type TaskView } from "./readTask.ts";

const task = {
  id: "t1",
  contextId: "c1",
  status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: "a" }, { data: 1 }, { text: "b" }] } },
  artifacts: [{ artifactId: "x", parts: [{ text: "out" }] }],
};

function view(value: unknown): TaskView {
  const reading = readTask(value, noMask);
  if (!reading.ok) throw new Error(reading.problem);
  return reading.view;
}

describe("a task", () => {
  it("is stored with its state, without the prefix, and with its message's text", () => {
    expect(view(task)).toMatchObject({
      taskId: "t1",
      contextId: "c1",
      state: "WORKING",
      statusMessage: "a\nb",
      statusParts: '[{"text":"a"},{"data":1},{"text":"b"}]',
      artifacts: '[{"artifactId":"x","parts":[{"text":"out"}]}]',
      isTruncated: false,
      outcome: null,
    });
  });

  it.each(["COMPLETED", "FAILED", "CANCELED", "REJECTED"])("has ended when it is %s", (state) => {
    expect(view({ ...task, status: { state: `TASK_STATE_${state}` } }).outcome).toBe(state);
  });

  it.each(["SUBMITTED", "INPUT_REQUIRED", "AUTH_REQUIRED", "UNSPECIFIED", "SOMETHING_NEW"])(
    "has not ended when it is %s",
    (state) => {
      expect(view({ ...task, status: { state: `TASK_STATE_${state}` } }).outcome).toBeNull();
    },
  );

  it("counts as unchanged while its contents are the same, except for its history", () => {
    const { fingerprint } = view(task);
    expect(view({ ...task, history: [{ parts: [] }] }).fingerprint).toBe(fingerprint);
    expect(view({ ...task, artifacts: [] }).fingerprint).not.toBe(fingerprint);
  });

  it("is stored up to a size: parts that do not fit are left out, and the rest is complete", () => {
    const large = view({
      ...task,
      artifacts: [
        { artifactId: "a", parts: [{ text: "x".repeat(70_000) }, { text: "small" }] },
        { artifactId: "b", description: "y".repeat(70_000), parts: [] },
        { artifactId: "c", parts: [{ text: "also" }] },
      ],
    });
    expect(large.isTruncated).toBe(true);
    expect(JSON.parse(large.artifacts!)).toEqual([
      { artifactId: "a", parts: [{ text: "small" }] },
      { artifactId: "c", parts: [{ text: "also" }] },
    ]);
  });

  it("has text that PostgreSQL can store", () => {
    const odd = view({ ...task, status: { state: "WORKING", message: { parts: [{ text: "a\0\ud800" }] } } });
    expect(odd.statusMessage).toBe("a\ufffd\ufffd");
  });

  it.each([
    [{}, "no usable $.id"],
    [{ ...task, id: ".." }, "no usable $.id"],
    [{ ...task, id: "a\nb" }, "no usable $.id"],
    [{ ...task, status: undefined }, "no $.status"],
    [{ ...task, status: { state: 3 } }, "no task state at $.status.state"],
    [{ ...task, status: { state: "completed" } }, "no task state at $.status.state"],
    [[], "no task at $"],
  ])("that is none is refused: %j", (value, problem) => {
    expect(readTask(value, noMask)).toMatchObject({
      ok: false,
      problem: expect.stringContaining(problem) as string,
    });
  });

  it("of any content is read within the limits and without an exception", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (message, artifacts, parts) => {
        const reading = readTask(
          {
            id: "t",
            status: { state: "TASK_STATE_WORKING", message },
            artifacts: [artifacts, { parts }],
          },
          noMask,
        );
        expect(reading.ok && (reading.view.artifacts ?? "").length <= 66_000).toBe(true);
      }),
    );
  });
});

describe("a credential that the agent repeats", () => {
  it("is masked in what is stored, but not in the values that are checked", () => {
    for (const token of ["id", "task", "state", "TASK_STATE_WORKING", "t1", "text"]) {
      const said = {
        id: "t1",
        status: { state: "TASK_STATE_WORKING", message: { parts: [{ text: token }] } },
      };
      expect(readTask(said, createCredentialMask(token)), token).toMatchObject({
        ok: true,
        view: {
          taskId: "t1",
          state: "WORKING",
          statusMessage: "[token]",
          statusParts: '[{"text":"[token]"}]',
        },
      });
    }
  });
});

describe("the answer to a message", () => {
  it("is a task or a message", () => {
    expect(readSendAnswer({ task }, noMask)).toMatchObject({ ok: true, view: { taskId: "t1" } });
    expect(readSendAnswer({ message: { parts: [{ text: "hi" }] } }, noMask)).toMatchObject({
      ok: true,
      view: { taskId: null, state: null, statusMessage: "hi", outcome: "COMPLETED" },
    });
  });

  it.each([null, "x", {}, { task: null }, { message: {} }, { result: task }])(
    "is invalid if it is anything else: %j",
    (value) => {
      expect(readSendAnswer(value, noMask).ok).toBe(false);
    },
  );
});
