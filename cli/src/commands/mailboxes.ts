import type { Command, Input, Options } from "../command.ts";
import { UsageError } from "../exitCodes.ts";
import { plain } from "../output.ts";
import type { Session } from "../session.ts";
import { findMailbox, targetId } from "./chooseTarget.ts";
import { workCommand } from "./work.ts";

const claimOptions: Options = {
  max: { value: "N", help: "maximum number of messages, 1 to 100; default: 1" },
  wait: { value: "SECONDS", help: "how long to wait for messages, up to 20" },
  lease: { value: "SECONDS", help: "lease of the claim" },
};

export const mailboxCommands: Command = {
  name: "mailbox",
  summary: "mailboxes: claim and acknowledge messages",
  commands: [
    {
      name: "stats",
      words: "<mailbox>",
      summary: "count the messages of a mailbox, and show their rates",
      run: stats,
    },
    {
      name: "claim",
      words: "<mailbox>",
      summary: "claim messages; a message that is not acknowledged within its lease can be claimed again",
      options: claimOptions,
      run: claim,
    },
    {
      name: "ack",
      words: "<message…>",
      summary: "acknowledge claimed messages",
      options: {
        "claim-token": { value: "TOKEN", help: "claim token, for a single message" },
      },
      run: acknowledge,
    },
    workCommand,
  ],
};

async function stats({ out, connect }: Session, { words }: Input): Promise<void> {
  const { client } = await connect();
  const mailbox = await findMailbox(client, words[0]!);
  out.one(await client.readMailboxStats(mailbox.id));
}

async function claim({ out, connect }: Session, input: Input): Promise<void> {
  const body = {
    max: input.number("max", 1, 100) ?? 1,
    wait_seconds: input.number("wait", 0, 20) ?? 0,
    lease_seconds: input.number("lease", 5, 43_200),
  };
  const { client } = await connect();
  const { messages, remaining } = await client.claimMessages(await targetId(client, input.words[0]!), body);
  for (const message of messages) {
    const { id, claim_token, event_type, payload } = message;
    out.line(message, `${id}  ${claim_token}  ${plain(event_type)}  ${plain(JSON.stringify(payload))}`);
  }
  if (messages.length === 0) out.say(`nothing to claim now; ${remaining.claimed} messages are claimed`);
}

async function acknowledge({ out, connect }: Session, input: Input): Promise<void> {
  const token = input.text("claim-token");
  if (token !== undefined && input.words.length > 1)
    throw new UsageError("--claim-token is for a single message");
  const { client } = await connect();
  for (const id of input.words) {
    const done = await client.acknowledgeMessage(id, { claim_token: token });
    out.line(done, `${done.id}  ${done.status}`);
  }
}
