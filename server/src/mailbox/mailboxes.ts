import type pg from "pg";
import { GroupCommit, type GroupCommitOptions } from "../runtime/groupCommit.ts";
import type { Turns } from "../runtime/turns.ts";
import { isTooSlow } from "../postgres/awayReason.ts";
import { isDatabaseAway } from "../postgres/pool.ts";
import type { Changes } from "../items/changes.ts";
import type { Log } from "../telemetry/log.ts";
import {
  changeClaims,
  type ClaimChange,
  type ClaimChangeOutcome,
  undoClaims,
} from "./finish/changeClaims.ts";
import {
  type ClaimDeps,
  claimMessages,
  type ClaimOutcome,
  type ClaimRequest,
} from "./claim/claimMessages.ts";
import {
  claimNamedMessages,
  type NamedClaimOutcome,
  type NamedClaimRequest,
} from "./claim/claimNamedMessages.ts";
import { type ChangeResult, closeMessages, type CloseRequest } from "./finish/closeMessages.ts";
import { createConsumers } from "./consumers.ts";
import { createWatermarks } from "./claim/watermarks.ts";
import { Waiters, type WaitingClaim } from "./claim/waiters.ts";
import { createWakeups } from "./claim/wakeups.ts";

export type Mailboxes = ReturnType<typeof createMailboxes>;

export interface MailboxesDeps extends ClaimDeps {
  /** Pool for the calls of consumers: connects straight to the server that holds the cell. `pool` is for LISTEN and NOTIFY. */
  direct: pg.Pool;
  log: Pick<Log, "warn">;
  changes: Changes;
  /** The owner of an API key. Owners have equal shares of each batch and of the queue. */
  ownerOf: (key: string) => string;
}

/** The most requests and messages of a batch. They bound the time that the next batch waits. */
const maxBatch = 256;
const maxBatchMessages = 500;
const maxQueued = 10_000;
const maxBusyRetries = 20;

/** The operations of consumers, on one node. The calls of many requests share a group commit. */
export function createMailboxes(input: MailboxesDeps) {
  const deps = { ...input, pool: input.direct, onMessagesReady: (ids: string[]) => wakeups.announce(ids) };
  const watermarks = createWatermarks(() => performance.now());
  const consumers = createConsumers(() => performance.now());
  const { turns } = consumers;
  const owned = { ownerOf: ({ key }: { key: string }) => input.ownerOf(key) };
  const claims = commits<ClaimRequest, ClaimOutcome>(turns, {
    ...owned,
    run: (requests) => claimMessages({ ...deps, watermarks, onClaimed: consumers.noteClaim }, requests),
    sizeOf: (request) => request.max,
  });
  const namedClaims = commits<NamedClaimRequest, NamedClaimOutcome>(turns, {
    ...owned,
    run: (requests) => claimNamedMessages(deps, requests),
  });
  const ends = commits<CloseRequest, ChangeResult>(turns, {
    ...owned,
    run(requests) {
      consumers.noteClosed(requests.length);
      return closeMessages(deps, requests);
    },
  });
  const claimChanges = commits<ClaimChange, ClaimChangeOutcome>(turns, {
    ...owned,
    run: (requests) => changeClaims(deps, requests),
  });
  const undoing = new Set<Promise<void>>();
  const waiters = new Waiters({ claim: (request) => claims.add(request), undo });
  const wakeups = createWakeups({
    ...deps,
    pool: input.pool,
    wake: (ids) => waiters.wake(ids),
    waitedFor: () => waiters.mailboxIds(),
  });

  /** Releases a claim whose client has disconnected. A claim with a Claim-Id is kept, because the request may be repeated. */
  function undo(request: ClaimRequest, outcome: ClaimOutcome): void {
    if (outcome.kind !== "claimed" || request.claimId !== null) return;
    const work = undoClaims(deps, request.key, outcome.messages)
      .catch((error: unknown) => {
        deps.log.warn({ err: error }, "could not give back what a vanished consumer was to get");
      })
      .finally(() => undoing.delete(work));
    undoing.add(work);
  }

  return {
    ...consumerCalls({ waiters, namedClaims, ends, claimChanges }, input.changes),
    /** Called when mailboxes have new messages: wakes their long polls on every node. */
    onMailboxItems(mailboxIds: string[]): void {
      wakeups.announce(new Set(mailboxIds));
      if (!input.changes.isWatched()) return;
      for (const id of new Set(mailboxIds)) input.changes.publish(id, { type: "mailbox", data: { id } });
    },
    /** The state of consumers, by which intake slows producers down. */
    consumers,
    /** The number of long polls that wait for messages. */
    waiting: (): number => waiters.count(),
    start: (): void => wakeups.start(),
    /** Ends all long polls; later claims do not wait. */
    stopWaiting: (): void => waiters.stop(),
    /** Finishes the claims and changes in flight. The pool stays open. */
    async stop(): Promise<void> {
      waiters.stop();
      await Promise.all([claims, namedClaims, ends, claimChanges].map((commit) => commit.drained()));
      await Promise.all(undoing);
      await wakeups.stop();
    },
  };
}

/** Retries while another transaction has the message locked. */
async function retryBusy(claim: () => Promise<NamedClaimOutcome>): Promise<NamedClaimOutcome> {
  for (let tries = 0; ; tries++) {
    const outcome = await claim();
    const isBusy = outcome.kind === "refused" && outcome.refusal === "busy";
    if (!isBusy || tries === maxBusyRetries) return outcome;
  }
}

/** The group commit for one kind of call. All kinds share turns, because a consumer mostly makes its calls one after another. */
function commits<T, R>(
  turns: Turns,
  options: Pick<GroupCommitOptions<T, R>, "run" | "ownerOf"> & { sizeOf?: (work: T) => number },
): GroupCommit<T, R> {
  return new GroupCommit<T, R>({
    isPieceAtFault: (error) => !isDatabaseAway(error),
    isHopeless: isTooSlow,
    sizeOf: () => 1,
    ...options,
    maxBatch,
    maxBatchBytes: maxBatchMessages,
    turns,
    maxQueued,
  });
}

const rememberedClaims = 10_000;

interface CallParts {
  waiters: Waiters;
  namedClaims: GroupCommit<NamedClaimRequest, NamedClaimOutcome>;
  ends: GroupCommit<CloseRequest, ChangeResult>;
  claimChanges: GroupCommit<ClaimChange, ClaimChangeOutcome>;
}

/** The calls of consumers. Each call reports the mailbox that it changed to event streams. */
function consumerCalls({ waiters, namedClaims, ends, claimChanges }: CallParts, changes: Changes) {
  /** Mailbox ids by id of a claimed message, for acknowledgements that name only the message. */
  const mailboxOf = new Map<string, string>();

  function report(mailboxId: string | null | undefined): void {
    if (mailboxId) changes.publish(mailboxId, { type: "mailbox", data: { id: mailboxId } });
  }

  function remember(messageId: string, mailboxId: string): void {
    mailboxOf.set(messageId, mailboxId);
    if (mailboxOf.size > rememberedClaims) mailboxOf.delete(mailboxOf.keys().next().value!);
  }

  return {
    async claim(request: WaitingClaim): Promise<ClaimOutcome> {
      const outcome = await waiters.claim(request);
      if (changes.isWatched() && outcome.kind === "claimed") report(request.mailboxId);
      return outcome;
    },
    async claimNamed(request: NamedClaimRequest): Promise<NamedClaimOutcome> {
      const outcome = await retryBusy(() => namedClaims.add(request));
      if (changes.isWatched() && outcome.kind === "claimed") {
        remember(outcome.message.id, outcome.message.mailboxId);
        report(outcome.message.mailboxId);
      }
      return outcome;
    },
    async end(request: CloseRequest): Promise<ChangeResult> {
      const result = await ends.add(request);
      if (changes.isWatched() && result === "done") {
        report(request.mailboxId ?? mailboxOf.get(request.messageId));
      }
      return result;
    },
    async change(request: ClaimChange): Promise<ClaimChangeOutcome> {
      const outcome = await claimChanges.add(request);
      if (changes.isWatched() && outcome.result === "done") {
        report(request.mailboxId ?? mailboxOf.get(request.messageId));
      }
      return outcome;
    },
  };
}
