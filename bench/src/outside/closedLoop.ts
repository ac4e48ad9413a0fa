import { once } from "node:events";
import type { NumberSet } from "../numberSet.ts";
import { addressOf, clock } from "./lane.ts";
import { readRecords, startNative } from "./native.ts";
import { requestTemplate } from "./publishCall.ts";
import type { Phase, PublisherOptions } from "./publisher.ts";
import { createTally, type Published } from "./tally.ts";

const recordBytes = 16;
const mostEvents = 99_999_999;

/** The path of the compiled program, the number of the next event, and the events accepted before. */
interface Progress {
  compiled: string;
  firstNumber: number;
  acceptedEvents: NumberSet;
}

/**
 * Publishes in a closed loop with the compiled program `publish`. Returns undefined if the program cannot make the calls: if they
 * need TLS, or a body that differs in more than digits from event to event.
 */
export async function publishNatively(
  { call, run, dataBytes, connections }: PublisherOptions,
  { durationMs, events }: Phase,
  { compiled, firstNumber, acceptedEvents }: Progress,
): Promise<{ published: Published; nextNumber: number } | undefined> {
  const { host, port, isSecure } = addressOf(call.url);
  const template = requestTemplate(call, run, dataBytes);
  if (template === undefined || isSecure) return undefined;
  const last = events ?? mostEvents - firstNumber;
  const numbers = [port, connections, durationMs, last, firstNumber, ...template.digitsAt];
  const program = await startNative(compiled, [host, ...numbers.map(String)]);
  const tally = createTally(acceptedEvents, clock());
  let nextNumber = firstNumber;
  readRecords(program, recordBytes, (records, at) => {
    const number = records.getInt32(at, true);
    nextNumber = Math.max(nextNumber, number + 1);
    tally.answer(number, records.getInt32(at + 4, true), records.getFloat64(at + 8, true));
  });
  program.stdin!.end(template.bytes);
  const [code] = (await once(program, "close")) as [number | null];
  if (code !== 0) throw new Error("the compiled publisher failed");
  const hasAll = nextNumber === firstNumber + last;
  const endAtMs = hasAll ? undefined : tally.startedAtMs + durationMs;
  return { published: tally.result(endAtMs, 0), nextNumber };
}
