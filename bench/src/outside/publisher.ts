import { setTimeout as delay } from "node:timers/promises";
import { createNumberSet } from "../numberSet.ts";
import { publishNatively } from "./closedLoop.ts";
import { clock, createLane, type Lane } from "./lane.ts";
import { compileNative } from "./native.ts";
import { createPacing } from "./pacing.ts";
import { createRequestWriter, type PublishCall } from "./publishCall.ts";
import { createTally, type Published } from "./tally.ts";

export interface PublisherOptions {
  run: string;
  call: PublishCall;
  connections: number;
  /** The length of `{{data}}`. */
  dataBytes: number;
  /** Whether to use the compiled program for calls that it can make. */
  isNative: boolean;
}

export interface Publisher {
  /** Compiles the program if `isNative` is set. */
  start(): Promise<void>;
  publish(phase: Phase): Promise<Published>;
}

/** A closed loop or, with a rate, calls at their due times. Ends after the duration or after `events` calls. */
export interface Phase {
  durationMs: number;
  /** Calls per second. */
  rate?: number;
  events?: number;
}

const answerPatienceMs = 30_000;
/** Time for opening the connections before the first call is due. */
const openingMs = 50;

/** Publishes numbered events. */
export function createPublisher(options: PublisherOptions): Publisher {
  const write = createRequestWriter(options.call, options.run, options.dataBytes);
  const acceptedEvents = createNumberSet();
  let nextNumber = 0;
  let compiled: string | undefined;

  async function publish(phase: Phase): Promise<Published> {
    const lanes: Lane[] = [];
    const startsAtMs = clock() + (phase.rate === undefined ? 0 : openingMs);
    const tally = createTally(acceptedEvents, startsAtMs);
    const endAtMs = startsAtMs + phase.durationMs;
    const lastNumber = nextNumber + (phase.events ?? Infinity);
    const isOver = (): boolean => nextNumber >= lastNumber || clock() >= endAtMs;
    const take = (): number | undefined => (isOver() ? undefined : nextNumber++);
    const onAnswer = (number: number, status: number): void => tally.answer(number, status, clock());

    function loop(lane: Lane): void {
      const number = take();
      if (number !== undefined) lane.send(number, clock());
    }

    const onFree = phase.rate === undefined ? loop : (): void => undefined;
    for (let n = 0; n < options.connections; n++)
      lanes.push(createLane({ url: options.call.url, write, onAnswer, onFree }));
    const unsent = (number: number): void => onAnswer(number, 0);
    const pacing = createPacing({ lanes, rate: phase.rate, startsAtMs, take, unsent });
    while (!isOver()) await delay(Math.max(1, Math.min(pacing.sendDue(), endAtMs - clock())));
    const busy = (): number => lanes.filter((lane) => lane.isBusy()).length;
    while (busy() > 0 && clock() < endAtMs + answerPatienceMs) await delay(1);
    const result = tally.result(nextNumber >= lastNumber ? undefined : endAtMs, busy());
    for (const lane of lanes) lane.close();
    return result;
  }

  return {
    async start() {
      if (options.isNative) compiled = await compileNative("publish");
    },
    async publish(phase) {
      const native =
        compiled !== undefined && phase.rate === undefined
          ? await publishNatively(options, phase, { compiled, firstNumber: nextNumber, acceptedEvents })
          : undefined;
      if (native === undefined) return publish(phase);
      nextNumber = native.nextNumber;
      return native.published;
    },
  };
}
