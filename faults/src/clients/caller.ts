import type { Random } from "../../../server/test/support/billing/random.ts";
import type { Call, Operation, Output, Recorder } from "../history/history.ts";

/** A client that sends requests to both services and records its requests and their answers. */
export interface Caller {
  name: string;
  random: Random;
  /** Sends a request to one of the services, chosen at random. Rejects only after the run was aborted. */
  ask(operation: Operation, request: Request, read: (body: Body) => Output): Promise<Call>;
}

export interface Request {
  method: "GET" | "POST" | "PATCH";
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- an answer of the service; the caller knows its type
type Body = any;

export interface CallerInput {
  recorder: Recorder;
  /** Base URLs of the services. */
  urls: readonly string[];
  apiKey: string;
  /** Aborted when the run is aborted. */
  givenUp: AbortSignal;
}

/** Longer than the service's own time limits, so that the service gives up first. */
const answerLimitMs = 12_000;

export function createCaller(
  { recorder, urls, apiKey, givenUp }: CallerInput,
  name: string,
  random: Random,
): Caller {
  return {
    name,
    random,
    async ask(operation, { method, path, body, headers }, read) {
      givenUp.throwIfAborted();
      const call = recorder.invoke(name, operation);
      try {
        const response = await fetch(random.pick(urls) + path, {
          method,
          headers: {
            authorization: `Bearer ${apiKey}`,
            ...(body !== undefined && { "content-type": "application/json" }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          signal: AbortSignal.any([givenUp, AbortSignal.timeout(answerLimitMs)]),
        });
        const text = await response.text();
        recorder.answer(call, judge(response.status, text, read));
      } catch (error) {
        recorder.answer(call, { outcome: "unknown", status: null, output: {}, reason: whyOf(error) });
      }
      return call;
    },
  };
}

function judge(
  status: number,
  text: string,
  read: (body: Body) => Output,
): Pick<Call, "outcome" | "status" | "output" | "reason"> {
  if (status >= 200 && status < 300)
    return { outcome: "ok", status, output: read(JSON.parse(text)), reason: null };
  // A 408 depends on the network and the load of the machine: the request may have been carried out.
  const outcome = status >= 500 || status === 408 ? "unknown" : "fail";
  return { outcome, status, output: {}, reason: text.slice(0, 500) };
}

function whyOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
