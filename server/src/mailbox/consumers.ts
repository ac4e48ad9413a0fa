import { Turns } from "../runtime/turns.ts";

/** The requests of one claim from which on a mailbox counts as busy: with fewer, producers need not be slowed down. */
const busyRequests = 10;
/** The ready messages that a claim leaves from which on consumers are behind. */
const behindReady = 8;
/** A mailbox stays busy for this long: producers that only sometimes take turns with consumers make more and smaller batches. */
const busyMs = 200;
const maxMailboxes = 1_000;

interface BusyMailbox {
  /** When its consumers were last found behind, by the monotonic clock. */
  atMs: number;
  isBehind: boolean;
}

/**
 * The consumers of one node's mailboxes, as far as producers take them into account.
 * @param nowMs the monotonic clock
 */
export function createConsumers(nowMs: () => number) {
  const busy = new Map<string, BusyMailbox>();
  let closed = 0;
  const isFresh = ({ atMs }: BusyMailbox): boolean => nowMs() - atMs < busyMs;
  return {
    turns: new Turns(),
    /** Whether many consumers claim from the mailbox at this moment and are behind, or were just now. */
    isBusy(mailboxId: string): boolean {
      const mailbox = busy.get(mailboxId);
      return mailbox !== undefined && isFresh(mailbox);
    },
    isBehind(): boolean {
      for (const mailbox of busy.values()) if (mailbox.isBehind && isFresh(mailbox)) return true;
      return false;
    },
    consumed: () => closed,
    /** A claim has served this number of the mailbox's requests and left this number of ready messages. */
    noteClaim: (mailboxId: string, requests: number, ready: number): void => {
      const isBehind = ready >= behindReady;
      if (isBehind && requests >= busyRequests) {
        if (busy.size >= maxMailboxes) busy.clear();
        busy.set(mailboxId, { atMs: nowMs(), isBehind });
      } else {
        const known = busy.get(mailboxId);
        if (known !== undefined) known.isBehind = isBehind;
      }
    },
    /** Messages are being acknowledged or rejected. */
    noteClosed(messages: number): void {
      closed += messages;
    },
  };
}
