import { Turns } from "../runtime/turns.ts";

/** Requests of one claim from which on a mailbox counts as busy. With fewer, producers need not be slowed down. */
const busyRequests = 10;
/** Ready messages left by a claim from which on consumers count as behind. */
const behindReady = 8;
/** Time that a mailbox stays busy. Producers that take turns with consumers only now and then make more and smaller batches. */
const busyMs = 200;
const maxMailboxes = 1_000;

interface BusyMailbox {
  /** When its consumers were last behind, by the monotonic clock. */
  atMs: number;
  isBehind: boolean;
}

/**
 * The state of the consumers of one node's mailboxes, by which intake slows producers down.
 * @param nowMs the monotonic clock
 */
export function createConsumers(nowMs: () => number) {
  const busy = new Map<string, BusyMailbox>();
  let closed = 0;
  const isFresh = ({ atMs }: BusyMailbox): boolean => nowMs() - atMs < busyMs;
  return {
    turns: new Turns(),
    /** Whether, in the last 200 ms, many consumers claimed from the mailbox and were behind. */
    isBusy(mailboxId: string): boolean {
      const mailbox = busy.get(mailboxId);
      return mailbox !== undefined && isFresh(mailbox);
    },
    isBehind(): boolean {
      for (const mailbox of busy.values()) if (mailbox.isBehind && isFresh(mailbox)) return true;
      return false;
    },
    consumed: () => closed,
    /** Called after a claim with the number of the mailbox's requests in it, and of the ready messages that it left. */
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
    /** Called with the number of messages that are being acknowledged or rejected. */
    noteClosed(messages: number): void {
      closed += messages;
    },
  };
}
