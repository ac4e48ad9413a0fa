import { appendFileSync } from "node:fs";

/** A client's request. */
export type Operation =
  | { op: "send"; targetId: string; number: number; key: string | null; orderingKey: string | null }
  | { op: "publish"; customer: string; number: number; key: string | null }
  | { op: "claim"; mailboxId: string }
  | { op: "ack" | "extend" | "release" | "reject"; id: string; token: string }
  | { op: "read"; id: string }
  | { op: "replay"; targetId: string }
  /** Changes a target, whose rows each node of Citus has a copy of. */
  | { op: "change"; targetId: string; name: string };

/** Parts of the answer; which of them are set depends on the operation. */
export interface Output {
  /** Id of the item, publication or job. */
  id?: string;
  /** Ids of a publication's items. */
  itemIds?: string[];
  claims?: { id: string; token: string }[];
  /** HTTP status of one message in a batch. */
  messageStatus?: number;
  state?: string;
}

/**
 * One request with its answer, as its client saw it. `ok`: done, says the service; `fail`: not done, says the service;
 * `unknown`: nobody said, or a 503 or 408, after which it may have been done.
 */
export interface Call {
  number: number;
  by: string;
  operation: Operation;
  outcome: "pending" | "ok" | "fail" | "unknown";
  /** The HTTP status; null when no answer came. */
  status: number | null;
  output: Output;
  /** Why it failed, in the service's or the network's words. */
  reason: string | null;
  /** Milliseconds since the run began, by one monotonic clock. */
  startedAtMs: number;
  endedAtMs: number;
}

/** One delivery that reached a receiver, whole. */
export interface Receipt {
  /** The event: `x-event-id`. */
  id: string;
  /** The number that the sender gave to the item. */
  number: number;
  path: string;
  answered: number | "broken";
  atMs: number;
}

export interface ProcessEnd {
  service: string;
  /** By a signal of the supervisor, or by itself. */
  isAsked: boolean;
  how: string;
  /** Before it listened. */
  isStarting: boolean;
  lastWords: string;
  atMs: number;
}

/** All that was seen from outside. */
export interface History {
  calls: Call[];
  receipts: Receipt[];
  ends: ProcessEnd[];
}

/** Keeps a history in memory and, line by line, in a file. */
export class Recorder {
  readonly history: History = { calls: [], receipts: [], ends: [] };
  readonly #file: string;
  readonly #beganAtMs = performance.now();
  #lines: string[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  nowMs(): number {
    return Math.round((performance.now() - this.#beganAtMs) * 1000) / 1000;
  }

  invoke(by: string, operation: Operation): Call {
    const call: Call = {
      number: this.history.calls.length,
      by,
      operation,
      outcome: "pending",
      status: null,
      output: {},
      reason: null,
      startedAtMs: this.nowMs(),
      endedAtMs: Infinity,
    };
    this.history.calls.push(call);
    this.#write("invoke", { call: call.number, by, ...operation });
    return call;
  }

  answer(call: Call, answer: Pick<Call, "outcome" | "status" | "output" | "reason">): void {
    Object.assign(call, answer, { endedAtMs: this.nowMs() });
    const { outcome, ...rest } = answer;
    this.#write(outcome, { call: call.number, ...rest });
  }

  received(receipt: Omit<Receipt, "atMs">): void {
    this.history.receipts.push({ ...receipt, atMs: this.nowMs() });
    this.#write("received", receipt);
  }

  ended(end: Omit<ProcessEnd, "atMs">): void {
    this.history.ends.push({ ...end, atMs: this.nowMs() });
    this.#write("ended", end);
  }

  /** An action's beginning and end, and what else helps to read the file. */
  note(what: string, more: object = {}): void {
    this.#write("note", { what, ...more });
  }

  /** Brings the file up to date. */
  flush(): void {
    if (this.#lines.length === 0) return;
    appendFileSync(this.#file, this.#lines.join(""));
    this.#lines = [];
  }

  #write(type: string, fields: object): void {
    this.#lines.push(`${JSON.stringify({ atMs: this.nowMs(), type, ...fields })}\n`);
    if (this.#lines.length >= 200) this.flush();
  }
}
