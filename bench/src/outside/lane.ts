import { type Exchange, openExchange } from "../exchange.ts";
import { createClock } from "./eventId.ts";
import type { RequestWriter } from "./publishCall.ts";

/** A connection that carries one call at a time, and is opened again whenever it is lost. */
export interface Lane {
  isFree(): boolean;
  isOpen(): boolean;
  isBusy(): boolean;
  send(number: number, sentAtMs: number): void;
  close(): void;
}

export interface LaneOptions {
  url: string;
  write: RequestWriter;
  /** The status is 0 if the connection was lost before the answer. */
  onAnswer: (number: number, status: number) => void;
  /** Called when the connection can take the next call. */
  onFree: (lane: Lane) => void;
}

const reopenMs = 20;

export function createLane(options: LaneOptions): Lane {
  const { host, port, isSecure } = addressOf(options.url);
  let waiting: number | undefined;
  let exchange: Exchange | undefined;
  let isClosed = false;

  const lane: Lane = {
    isFree: () => exchange !== undefined && waiting === undefined,
    isOpen: () => exchange !== undefined,
    isBusy: () => waiting !== undefined,
    send(number, sentAtMs) {
      waiting = number;
      exchange!.send(options.write(number, sentAtMs));
    },
    close() {
      isClosed = true;
      exchange?.close();
    },
  };

  function settle(status: number): void {
    const number = waiting;
    waiting = undefined;
    if (number !== undefined) options.onAnswer(number, status);
  }

  async function open(): Promise<void> {
    const onAnswer = (status: number): void => {
      if (status >= 200) settle(status);
    };
    const onRead = (): void => {
      if (lane.isFree()) options.onFree(lane);
    };
    const onClose = (): void => {
      exchange = undefined;
      settle(0);
      if (!isClosed) setTimeout(() => void open(), reopenMs);
    };
    const address = { host, port, isSecure, missingLength: 0 };
    const opened = await openExchange({ ...address, onAnswer, onRead, onClose }).catch(() => undefined);
    if (isClosed) {
      opened?.close();
    } else if (opened === undefined) {
      setTimeout(() => void open(), reopenMs);
    } else {
      exchange = opened;
      options.onFree(lane);
    }
  }

  void open();
  return lane;
}

/** The address that a call's URL leads to. */
export function addressOf(url: string): { host: string; port: number; isSecure: boolean } {
  const { hostname, port, protocol } = new URL(url);
  const isSecure = protocol === "https:";
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
  };
}

/** Milliseconds of the machine's monotonic clock. */
export const clock = createClock();
