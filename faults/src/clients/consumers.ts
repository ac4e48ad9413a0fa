import { setTimeout as delay } from "node:timers/promises";
import type { Call } from "../history/history.ts";
import type { Caller } from "./caller.ts";

type Claim = { id: string; token: string };
type Verb = "ack" | "extend" | "release" | "reject";

export interface Mailbox {
  id: string;
  leaseMs: number;
}

/** Pause after a refusal or a lost answer, milliseconds. */
const pauseMs = 100;

/** Claims messages until `stopping`, and handles each as careless, slow or crashing consumers would. */
export async function consumeUntil(stopping: AbortSignal, caller: Caller, mailbox: Mailbox): Promise<void> {
  while (!stopping.aborted) {
    const claims = await claim(caller, mailbox, caller.random.integer(1, 6));
    await Promise.all(claims.map((one) => mishandle(caller, mailbox, one)));
  }
}

/** Claims and acknowledges messages until claims have been empty for the duration of a lease. */
export async function drain(
  caller: Caller,
  mailbox: Mailbox,
  isEmpty: () => Promise<boolean>,
): Promise<void> {
  while (!(await isEmpty())) {
    for (const one of await claim(caller, mailbox, 50)) await change(caller, mailbox, "ack", one);
  }
}

async function claim(caller: Caller, mailbox: Mailbox, max: number): Promise<Claim[]> {
  const call = await caller.ask(
    { op: "claim", mailboxId: mailbox.id },
    { method: "POST", path: `/api/v1/mailboxes/${mailbox.id}/claim`, body: { max, wait_seconds: 1 } },
    (body) => ({
      claims: body.messages.map(({ id, claim_token: token }: { id: string; claim_token: string }) => ({
        id,
        token,
      })),
    }),
  );
  if (call.outcome !== "ok") await delay(pauseMs);
  return call.output.claims ?? [];
}

async function mishandle(caller: Caller, mailbox: Mailbox, one: Claim): Promise<void> {
  const { random } = caller;
  const luck = random.integer(0, 99);
  // The consumer crashed.
  if (luck < 5) return;
  if (luck < 12) await delay(mailbox.leaseMs * (0.9 + random.integer(0, 8) / 10));
  else if (luck < 18) {
    await change(caller, mailbox, "release", one);
    // The consumer does not learn the outcome.
    if (random.chance(0.5)) return;
  } else if (luck < 21) {
    await change(caller, mailbox, "reject", one);
    return;
  } else if (luck < 28) {
    await delay(mailbox.leaseMs * 0.6);
    await change(caller, mailbox, "extend", one);
    await delay(mailbox.leaseMs * (0.3 + random.integer(0, 9) / 10));
  } else await delay(random.integer(0, 20));
  const call = await change(caller, mailbox, "ack", one);
  if (call.outcome === "unknown" || random.chance(0.2)) await change(caller, mailbox, "ack", one);
}

/** Changes a claimed message; the outcome is that of the message within the batch. */
function change(caller: Caller, mailbox: Mailbox, verb: Verb, { id, token }: Claim): Promise<Call> {
  return caller.ask(
    { op: verb, id, token },
    {
      method: "POST",
      path: `/api/v1/mailboxes/${mailbox.id}/${verb}`,
      body: { messages: [{ id, claim_token: token }] },
    },
    (body) => ({ messageStatus: body.results[0].status }),
  );
}
