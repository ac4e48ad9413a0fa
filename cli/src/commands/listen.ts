import type { ClaimedMessage } from "../../../sdk/src/client.ts";
import { consumeMailbox } from "../../../sdk/src/consumeMailbox.ts";
import type { Command, Input } from "../command.ts";
import { CommandError, UsageError } from "../exitCodes.ts";
import { forward, type Forwarding, isSigningSecret, newSigningSecret } from "../listen/forward.ts";
import { mirrorTarget } from "../listen/mirrorTarget.ts";
import { showForwarded } from "../listen/showForwarded.ts";
import { createPacer, type Pacer } from "../listen/pacer.ts";
import { type Output, plain } from "../output.ts";
import type { Service, Session } from "../session.ts";
import { findMailbox } from "./chooseTarget.ts";
import { patiently } from "./patiently.ts";
import { consumerOptions } from "./work.ts";

export const listenCommand: Command = {
  name: "listen",
  words: "[mailbox]",
  summary: "post messages of a mailbox, or copies of a target's items, to a local server until Ctrl-C",
  details: `Each message is posted as a webhook would be, with webhook-id, webhook-timestamp and webhook-signature. A 2xx
answer acknowledges it; after any other it is released and comes again after 2, 4, 8 … up to 60 seconds. The claim is
extended while the local server works on the message. While the service is unavailable, the command waits for it. Ctrl-C
releases messages in progress. The signing secret is POSTRIDER_LISTEN_SECRET, or a random one, shown at the start.

With --target, items that the target gets from now on also go to the local server. The target gets its own deliveries
as before, and nothing is claimed. After an answer other than 2xx the item is not posted again. While the local server
is unavailable, the command waits for it.`,
  options: {
    target: { value: "TARGET", help: "mirror the items of this target, by id or name" },
    "forward-to": { value: "URL", help: "address of the local server; required" },
    timeout: { value: "SECONDS", help: "time limit for the local server's answer; default: 300" },
    ...consumerOptions,
  },
  run: listen,
};

const maxDelaySeconds = 60;
/** Time that requests in progress have to finish after Ctrl-C. */
const graceMs = 1_000;

async function listen(session: Session, input: Input): Promise<void> {
  const { out } = session;
  const forwarding = readForwarding(input, session.env, out);
  const concurrency = input.number("concurrency", 1, 100) ?? 1;
  const leaseSeconds = input.number("lease", 5, 43_200) ?? 60;
  const service = await session.connect();
  const [mailboxWord] = input.words;
  const target = input.text("target");
  if ((mailboxWord === undefined) === (target === undefined)) {
    throw new UsageError("name a mailbox to take messages from, or a --target whose items to mirror");
  }
  if (target !== undefined) {
    await mirrorTarget({ out, service, forwarding, pacer: createPacer() }, target, session.untilStopped());
    return;
  }
  const mailbox = await findMailbox(service.client, mailboxWord!);
  const stop = session.untilStopped();
  const cut = new AbortController();
  const forwarder: Forwarder = { out, service, forwarding, pacer: createPacer(), cut: cut.signal };
  const consumer = consumeMailbox(
    patiently(service.connection, out.say),
    mailbox.id,
    (message, { signal }) => handle(forwarder, message, signal),
    {
      concurrency,
      leaseSeconds,
      retryDelaySeconds: ({ claim_count }) =>
        stop.aborted ? 0 : Math.min(2 ** claim_count, maxDelaySeconds),
      onError: (error) => {
        if (!(error instanceof NotDelivered)) out.say(plain(`${(error as Error).message}; continuing`));
      },
    },
  );
  out.say(`forwarding ${plain(mailbox.name)} to ${forwarding.url}; Ctrl-C ends it`);
  stop.addEventListener(
    "abort",
    () => {
      out.say("ending; messages in progress are released");
      void consumer.stop();
      setTimeout(() => cut.abort(new Error("the listener ends")), graceMs);
    },
    { once: true },
  );
  await consumer.finished;
}

function readForwarding(input: Input, env: NodeJS.ProcessEnv, out: Output): Forwarding {
  const url = input.text("forward-to");
  if (url === undefined) throw new UsageError("--forward-to is missing");
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw new UsageError("--forward-to must be a URL such as http://127.0.0.1:3000/webhooks");
  }
  const { username, password } = new URL(url);
  if (username !== "" || password !== "") {
    throw new UsageError(
      "--forward-to must not contain a user name or a password, which fetch does not send",
    );
  }
  const timeoutMs = (input.number("timeout", 1, 86_400) ?? 300) * 1000;
  const given = env["POSTRIDER_LISTEN_SECRET"] ?? "";
  if (given !== "" && !isSigningSecret(given)) {
    throw new UsageError("POSTRIDER_LISTEN_SECRET must be whsec_ and 24 to 64 bytes in base64");
  }
  const secret = given === "" ? newSigningSecret() : given;
  if (given === "") out.say(`signing secret: ${secret}`);
  return { url, secret, timeoutMs };
}

interface Forwarder {
  out: Output;
  service: Service;
  forwarding: Forwarding;
  pacer: Pacer;
  /** Aborts the requests in progress. */
  cut: AbortSignal;
}

/** The local server did not acknowledge the message, which is released. Its line has already been printed. */
class NotDelivered extends CommandError {}

async function handle(
  { out, service, forwarding, pacer, cut }: Forwarder,
  message: ClaimedMessage,
  lost: AbortSignal,
): Promise<void> {
  const signal = AbortSignal.any([cut, lost]);
  const body = await service.readPayloadText(message.id);
  const outcome = await forward(forwarding, message, body, signal);
  showForwarded(out, message, outcome);
  if (outcome.kind === "unreachable") {
    // Without this pause, every waiting message would be claimed in vain while the local server restarts.
    await pacer.afterFailure(signal);
    throw new NotDelivered(`the local server was not reached: ${outcome.reason}`);
  }
  pacer.afterSuccess();
  if (outcome.status < 200 || outcome.status > 299) {
    throw new NotDelivered(`the local server answered ${outcome.status}`);
  }
}
