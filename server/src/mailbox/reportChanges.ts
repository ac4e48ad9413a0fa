import type { Changes } from "../items/changes.ts";
import type { Mailboxes } from "./mailboxes.ts";

const rememberedClaims = 10_000;

type Calls = Pick<Mailboxes, "claim" | "claimNamed" | "end" | "change">;

/** The calls of consumers, with a report of each mailbox in which one changed something. */
export function reportChanges(calls: Calls, changes: Changes): Calls {
  /** The mailboxes of claimed messages, for acknowledgements that name only the message. */
  const mailboxOf = new Map<string, string>();

  function report(mailboxId: string | null | undefined): void {
    if (mailboxId) changes.publish(mailboxId, { type: "mailbox", data: { id: mailboxId } });
  }

  function remember(messageId: string, mailboxId: string): void {
    mailboxOf.set(messageId, mailboxId);
    if (mailboxOf.size > rememberedClaims) mailboxOf.delete(mailboxOf.keys().next().value!);
  }

  return {
    async claim(request) {
      const outcome = await calls.claim(request);
      if (changes.isWatched() && outcome.kind === "claimed") report(request.mailboxId);
      return outcome;
    },
    async claimNamed(request) {
      const outcome = await calls.claimNamed(request);
      if (changes.isWatched() && outcome.kind === "claimed") {
        remember(outcome.message.id, outcome.message.mailboxId);
        report(outcome.message.mailboxId);
      }
      return outcome;
    },
    async end(request) {
      const result = await calls.end(request);
      if (changes.isWatched() && result === "done") {
        report(request.mailboxId ?? mailboxOf.get(request.messageId));
      }
      return result;
    },
    async change(request) {
      const outcome = await calls.change(request);
      if (changes.isWatched() && outcome.result === "done") {
        report(request.mailboxId ?? mailboxOf.get(request.messageId));
      }
      return outcome;
    },
  };
}
