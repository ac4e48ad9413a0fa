import type { ClaimedMessage, Operations } from "./operations.generated.ts";
import { PostriderError } from "./postriderError.ts";
import { pause } from "./request.ts";
import { type Schema, SchemaError, validate } from "./standardSchema.ts";

export { SchemaError } from "./standardSchema.ts";

const maxReasonLength = 1000;

/** Thrown by a handler to reject a message: the message becomes dead with this reason, and is not claimed again. */
export class RejectMessage extends Error {
  override name = "RejectMessage";
}

/** A claimed message. The type of its payload comes from the schema or, without one, from the caller, unchecked. */
export type TypedMessage<Payload = unknown> = Omit<ClaimedMessage, "payload"> & { payload: Payload };

/** Handles a message. When it returns, the message is acknowledged; when it throws, the message is released. */
export type MessageHandler<Payload = unknown> = (
  message: TypedMessage<Payload>,
  context: HandlerContext,
) => Promise<void> | void;

export interface HandlerContext {
  /** Aborts when the claim is lost: another consumer may have the message, so stop working on it. */
  signal: AbortSignal;
}

export interface ConsumerOptions<Payload = unknown> {
  /**
   * Schema of the payloads, from any library that implements Standard Schema. A message whose payload violates the schema becomes
   * dead, with the violation as its reason.
   */
  schema?: Schema<Payload>;
  /** Stops the consumer when it aborts, as `stop` does. */
  signal?: AbortSignal;
  /** Maximum number of messages handled at the same time; 1 by default. */
  concurrency?: number;
  /** Duration of a claim; it is extended while the handler works. 60 s by default. */
  leaseSeconds?: number;
  /** How long one request waits for messages (long poll); 20 s by default. With 0, an empty mailbox is polled once a second. */
  waitSeconds?: number;
  /** Delay, in seconds, before a message whose handler failed can be claimed again; 2, 4, 8 … up to 300 by default. */
  retryDelaySeconds?: (message: ClaimedMessage) => number;
  /**
   * Called for each failed handler, lost claim and failed request. The consumer continues; if this function throws, the consumer
   * stops, and `finished` rejects with the error.
   */
  onError?: (error: unknown, message?: ClaimedMessage) => void;
}

export interface MailboxConsumer {
  /** Stops claiming, releases messages that no handler has begun, and resolves when the running handlers have finished. */
  stop(): Promise<void>;
  /** Resolves after `stop`; rejects when retries cannot help, for example because the API key was deleted. */
  finished: Promise<void>;
}

type MailboxClient = Pick<
  Operations,
  "claimMessages" | "acknowledgeMessages" | "extendClaims" | "releaseMessages" | "rejectMessages"
>;

/**
 * Claims messages of a mailbox as they arrive and passes each to `handle`, until it is stopped.
 * @throws {RangeError} for a `concurrency` below 1, with which no message would ever be claimed.
 */
export function consumeMailbox<Payload = unknown>(
  client: MailboxClient,
  mailboxId: string,
  handle: MessageHandler<Payload>,
  options: ConsumerOptions<Payload> = {},
): MailboxConsumer {
  if (!((options.concurrency ?? 1) >= 1)) throw new RangeError("concurrency must be at least 1");
  const consumer = new Consumer(client, mailboxId, handle as MessageHandler, options);
  const { signal } = options;
  const stop = (): void => consumer.stop();
  if (signal?.aborted === true) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  const finished = consumer.run().finally(() => signal?.removeEventListener("abort", stop));
  finished.catch(() => undefined);
  return {
    finished,
    async stop() {
      consumer.stop();
      await finished;
    },
  };
}

const most = { messagesOfCall: 100, pauseMs: 30_000 };
/** Minimum time from the start of a claim that found nothing to the next one, because such a claim may be answered at once. */
const emptyMs = 1_000;
/** Added to the wait of a long poll, this is the time limit of its request. */
const waitMarginMs = 15_000;

interface InFlight {
  message: ClaimedMessage;
  lost: AbortController;
  done: Promise<void>;
  /** When the claim ends unless it is extended, by the monotonic clock. */
  endsAtMs: number;
  /** Whether an extension was requested and has not been confirmed yet. */
  isUnheard: boolean;
}

class Consumer {
  readonly #client: MailboxClient;
  readonly #mailboxId: string;
  readonly #handle: MessageHandler;
  readonly #options: Required<Omit<ConsumerOptions, "schema" | "signal">> & Pick<ConsumerOptions, "schema">;
  readonly #stopping = new AbortController();
  /**
   * Not by claim token, which all messages of one claim share, and not by id: a message can be claimed again here while the handler
   * of its lost claim still works.
   */
  readonly #inFlight = new Set<InFlight>();
  /** Ends the wait for a free handler. */
  #onFree: () => void = () => undefined;

  #failure: { error: unknown } | undefined;

  constructor(client: MailboxClient, mailboxId: string, handle: MessageHandler, options: ConsumerOptions) {
    this.#client = client;
    this.#mailboxId = mailboxId;
    this.#handle = handle;
    this.#options = {
      schema: options.schema,
      concurrency: options.concurrency ?? 1,
      leaseSeconds: options.leaseSeconds ?? 60,
      waitSeconds: options.waitSeconds ?? 20,
      retryDelaySeconds: options.retryDelaySeconds ?? (({ claim_count: count }) => Math.min(2 ** count, 300)),
      onError: options.onError ?? (() => undefined),
    };
  }

  stop(): void {
    this.#stopping.abort(new Error("the consumer is stopping"));
  }

  async run(): Promise<void> {
    const renewal = setInterval(() => void this.#renew(), (this.#options.leaseSeconds * 1000) / 3);
    try {
      let failures = 0;
      while (!this.#stopping.signal.aborted) {
        try {
          const beganAtMs = performance.now();
          const isEmpty = await this.#claim();
          failures = 0;
          const restMs = beganAtMs + emptyMs - performance.now();
          if (isEmpty && restMs > 0) await pause(restMs, this.#stopping.signal).catch(() => undefined);
        } catch (error) {
          if (this.#stopping.signal.aborted) break;
          if (isFinal(error)) throw error;
          this.#report(error);
          const waitMs = Math.min(1000 * 2 ** failures++, most.pauseMs);
          await pause(waitMs, this.#stopping.signal).catch(() => undefined);
        }
      }
    } finally {
      await Promise.all([...this.#inFlight].map(({ done }) => done));
      clearInterval(renewal);
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Calls the owner's `onError`; if it throws, messages in progress are still finished or released. */
  #report(error: unknown, message?: ClaimedMessage): void {
    try {
      this.#options.onError(error, message);
    } catch (thrown) {
      this.#failure ??= { error: thrown };
      this.stop();
    }
  }

  /** Waits until a handler is free, then claims as many messages as handlers are free. @returns whether a claim found nothing. */
  async #claim(): Promise<boolean> {
    const { concurrency, leaseSeconds, waitSeconds } = this.#options;
    if (this.#inFlight.size >= concurrency) {
      // Without `Promise.race`, whose reactions would stay with the promise of a handler that works for hours.
      await new Promise<void>((resolve) => (this.#onFree = resolve));
      return false;
    }
    const claimId = crypto.randomUUID();
    const body = {
      max: Math.min(concurrency - this.#inFlight.size, most.messagesOfCall),
      wait_seconds: waitSeconds,
      lease_seconds: leaseSeconds,
    };
    const timeoutMs = waitSeconds * 1000 + waitMarginMs;
    const { signal } = this.#stopping;
    try {
      const { messages } = await this.#client.claimMessages(this.#mailboxId, body, {
        claimId,
        timeoutMs,
        signal,
      });
      signal.throwIfAborted();
      for (const message of messages) this.#start(message);
      return messages.length === 0;
    } catch (error) {
      if (signal.aborted) await this.#giveBack(claimId, body);
      throw error;
    }
  }

  /** Releases the messages of an aborted claim, so that none stays leased: the same Claim-Id returns the same messages again. */
  async #giveBack(claimId: string, body: { max: number; lease_seconds: number }): Promise<void> {
    try {
      const { messages } = await this.#client.claimMessages(
        this.#mailboxId,
        { ...body, wait_seconds: 0 },
        { claimId },
      );
      if (messages.length > 0) {
        await this.#client.releaseMessages(this.#mailboxId, { messages: messages.map(claimOf) });
      }
    } catch (error) {
      this.#report(error);
    }
  }

  #start(message: ClaimedMessage): void {
    const lost = new AbortController();
    const done = this.#work(message, lost.signal)
      .catch((error: unknown) => this.#report(error, message))
      .finally(() => {
        this.#inFlight.delete(one);
        this.#onFree();
      });
    const one: InFlight = { message, lost, done, endsAtMs: this.#leaseEndMs(), isUnheard: false };
    this.#inFlight.add(one);
  }

  async #work(message: ClaimedMessage, signal: AbortSignal): Promise<void> {
    const messages = [claimOf(message)];
    try {
      await this.#handle(await this.#read(message), { signal });
    } catch (error) {
      if (signal.aborted) return;
      this.#report(error, message);
      const { results } =
        error instanceof RejectMessage
          ? await this.#client.rejectMessages(this.#mailboxId, { messages, reason: reasonOf(error) })
          : await this.#client.releaseMessages(this.#mailboxId, {
              messages,
              delay_seconds: this.#options.retryDelaySeconds(message),
              reason: reasonOf(error),
            });
      requireSuccess(results);
      return;
    }
    if (signal.aborted) return;
    requireSuccess((await this.#client.acknowledgeMessages(this.#mailboxId, { messages })).results);
  }

  /** Validates the payload. @throws {RejectMessage} when it violates the schema, because a later claim would not change that. */
  async #read(message: ClaimedMessage): Promise<TypedMessage> {
    const { schema } = this.#options;
    if (schema === undefined) return message;
    try {
      return { ...message, payload: await validate(schema, message.payload) };
    } catch (error) {
      throw error instanceof SchemaError ? new RejectMessage(error.message, { cause: error }) : error;
    }
  }

  /** The end of a lease that begins now. */
  #leaseEndMs(): number {
    return performance.now() + this.#options.leaseSeconds * 1000;
  }

  /** Extends all claims. Aborts the signals of handlers whose claim is lost, or has ended while the service was unavailable. */
  async #renew(): Promise<void> {
    const held = [...this.#inFlight].filter(({ lost }) => !lost.signal.aborted);
    const isOver = ({ isUnheard, endsAtMs }: InFlight): boolean => isUnheard && endsAtMs <= performance.now();
    for (const one of held.filter(isOver)) this.#lose(one, "it ran out and could not be extended");
    const all = held.filter(({ lost }) => !lost.signal.aborted);
    for (let start = 0; start < all.length; start += most.messagesOfCall) {
      try {
        await this.#renewBatch(all.slice(start, start + most.messagesOfCall));
      } catch (error) {
        this.#report(error);
      }
    }
  }

  async #renewBatch(batch: readonly InFlight[]): Promise<void> {
    for (const one of batch) one.isUnheard = true;
    const { results } = await this.#client.extendClaims(this.#mailboxId, {
      messages: batch.map(({ message }) => claimOf(message)),
      lease_seconds: this.#options.leaseSeconds,
    });
    for (const [index, { ok, error }] of results.entries()) {
      const one = batch[index]!;
      one.isUnheard = false;
      if (ok) one.endsAtMs = this.#leaseEndMs();
      else if (this.#inFlight.has(one)) this.#lose(one, error);
    }
  }

  #lose({ message, lost }: InFlight, why: string | undefined): void {
    const reason = new Error(`the claim was lost: ${why}`);
    lost.abort(reason);
    this.#report(reason, message);
  }
}

function claimOf({ id, claim_token }: ClaimedMessage): { id: string; claim_token: string } {
  return { id, claim_token };
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const reason = message.slice(0, maxReasonLength).replaceAll("\0", "\ufffd").toWellFormed();
  return reason === "" ? "rejected" : reason;
}

function requireSuccess(results: readonly { ok: boolean; error?: string }[]): void {
  const failed = results.find(({ ok }) => !ok);
  if (failed !== undefined) throw new Error(`the claim was lost: ${failed.error}`);
}

/** Whether a retry cannot help: the API key is invalid or has no access, the mailbox does not exist, or the request is wrong. */
function isFinal(error: unknown): boolean {
  return error instanceof PostriderError && [400, 401, 403, 404].includes(error.status);
}
