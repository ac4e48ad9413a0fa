import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { endWithThis, stopProcess } from "./processes.ts";

/** A part of the benchmark in a process of its own. */
export interface Part {
  pid: number;
  /** Sends a question to the part and resolves with its answer; rejects if answering throws in the part. */
  ask<T>(question: object): Promise<T>;
  stop(): Promise<void>;
}

interface Answer {
  id: number;
  answer?: unknown;
  error?: string;
}

/** Fewer threads for garbage collection, and fewer collections of the young generation. */
const flags = ["--single-threaded-gc", "--max-semi-space-size=32"];

/** Starts the program of a part; `args` are passed to it as JSON. */
export async function startPart(program: URL, args: object): Promise<Part> {
  const path = fileURLToPath(program);
  const child = fork(path, [JSON.stringify(args)], { serialization: "advanced", execArgv: flags });
  endWithThis(child);
  const waiting = new Map<number, (answer: Answer) => void>();
  let lastId = 0;
  child.on("message", (answer: Answer) => {
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  child.once("exit", () => {
    for (const [id, settle] of waiting) settle({ id, error: `${path} has ended` });
  });
  const ask = <T>(question: object): Promise<T> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, ({ answer, error }) => {
        if (error === undefined) resolve(answer as T);
        else reject(new Error(error));
      });
      child.send({ id, question });
    });
  await ask({ type: "start" });
  return { pid: child.pid!, ask, stop: () => stopProcess(child) };
}

/** The arguments that the parent passed. */
export function partArgs<T>(): T {
  return JSON.parse(process.argv[2]!) as T;
}

/** Answers the parent's questions by their type; `start` is the first one. Ends with the parent. */
export function answerParent(answers: Record<string, (question: never) => unknown>): void {
  process.on("message", ({ id, question }: { id: number; question: { type: string } }) => {
    void answerOf(answers[question.type], question).then((answer) => process.send?.({ id, ...answer }));
  });
  process.once("disconnect", () => process.exit());
  process.once("SIGTERM", () => process.exit());
}

async function answerOf(
  answer: ((question: never) => unknown) | undefined,
  question: object,
): Promise<Omit<Answer, "id">> {
  try {
    return { answer: await answer?.(question as never) };
  } catch (error) {
    return { error: String(error) };
  }
}
