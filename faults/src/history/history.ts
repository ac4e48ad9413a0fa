import { appendFileSync } from "node:fs";

/** A client's request. */
export type Operation =
  | { op: "send"; targetId: string; number: number; key: string | null; orderingKey: string | null }
  | { op: "publish"; customer: string; number: number; key: string | null }
  | { op: "claim"; mailboxId: string }
  | { op: "ack" | "extend" | "release" | "reject"; id: string; token: string }
  | { op: "read"; id: string }
  | { op: "replay"; targetId: string }
  /** Changes a target; each Citus node has a copy of the targets' rows. */
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
 * One request with its answer, as its client saw it. `ok`: the service says that it did the work; `fail`: the
 * service says that it did not; `unknown`: no answer came, or a 503 or 408, so that the work may have been done.
 */
export interface Call {
  number: number;
  by: string;
  operation: Operation;
  outcome: "pending" | "ok" | "fail" | "unknown";
  /** The HTTP status; null when no answer came. */
  status: number | null;
  output: Output;
  /** Reason of the failure, in the words of the service or of the network. */
  reason: string | null;
  /** Milliseconds since the run began, on one monotonic clock. */
  startedAtMs: number;
  endedAtMs: number;
}

/** A request that reached a receiver completely. */
export interface Receipt {
  /** Id of the event, from `x-event-id`. */
  id: string;
  /** The number that the sender gave to the item. */
  number: number;
  path: string;
  answered: number | "broken";
  atMs: number;
}

export interface ProcessEnd {
  service: string;
  /** Whether the supervisor ended the process by a signal. */
  isAsked: boolean;
  how: string;
  /** Whether the process ended before it listened. */
  isStarting: boolean;
  lastWords: string;
  atMs: number;
}

/** All observations of clients, receivers and the supervisor. */
export interface History {
  calls: Call[];
  receipts: Receipt[];
  ends: ProcessEnd[];
}

/** Keeps a history in memory and writes it to a file, line by line. */
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

  /** Writes a note that helps to read the file, such as the beginning or end of an action. */
  note(what: string, more: object = {}): void {
    this.#write("note", { what, ...more });
  }

  /** Appends the buffered lines to the file. */
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
