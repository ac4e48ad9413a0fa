import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ClaimedMessage } from "../../../sdk/src/client.ts";
import { consumeMailbox, RejectMessage } from "../../../sdk/src/consumeMailbox.ts";
import type { Command, Input, Options } from "../command.ts";
import { CommandError, UsageError, exitCodes } from "../exitCodes.ts";
import { plain } from "../output.ts";
import type { Session } from "../session.ts";
import { findMailbox } from "./chooseTarget.ts";
import { patiently } from "./patiently.ts";

export const consumerOptions: Options = {
  concurrency: { value: "N", help: "messages at the same time, 1 to 100; default: 1" },
  lease: { value: "SECONDS", help: "lease of a claim, extended while the command runs; default: 60" },
};

export const workCommand: Command = {
  name: "work",
  words: "<mailbox> -- <command…>",
  summary: "run a command for each message, until Ctrl-C",
  details: `The command gets the payload on its standard input, and POSTRIDER_MESSAGE_ID, POSTRIDER_EVENT_TYPE,
POSTRIDER_CORRELATION_ID and POSTRIDER_CLAIM_COUNT in its environment. Exit code 0 acknowledges the message, 65
rejects it for good; after any other it comes again after 2, 4, 8 … up to 300 seconds. After a crash a message may come
twice: detect repetitions by POSTRIDER_MESSAGE_ID.`,
  options: consumerOptions,
  run: work,
};

/** EX_DATAERR of sysexits.h: the message itself is invalid, so that retries cannot help. */
const rejectCode = 65;
const maxDelaySeconds = 300;

async function work(session: Session, input: Input): Promise<void> {
  const { out, env } = session;
  const [file, ...args] = input.rest;
  if (file === undefined)
    throw new UsageError("name the command to run: postrider mailbox work <mailbox> -- <command>");
  const concurrency = input.number("concurrency", 1, 100) ?? 1;
  const leaseSeconds = input.number("lease", 5, 43_200) ?? 60;
  requireProgram(file, env);
  const service = await session.connect();
  const mailbox = await findMailbox(service.client, input.words[0]!);
  const stop = session.untilStopped();
  const consumer = consumeMailbox(
    patiently(service.connection, out.say),
    mailbox.id,
    async (message, { signal }) => {
      const payload = await service.readPayloadText(message.id);
      await runOnce({ file, args, env: environmentOf(env, message) }, payload, signal);
      out.say(`${message.id}  done`);
    },
    {
      concurrency,
      leaseSeconds,
      retryDelaySeconds: ({ claim_count }) =>
        stop.aborted ? 0 : Math.min(2 ** claim_count, maxDelaySeconds),
      onError: (error, message) => {
        out.say(plain(`${message === undefined ? "" : `${message.id}  `}${(error as Error).message}`));
      },
    },
  );
  out.say(`working on ${plain(mailbox.name)}; Ctrl-C ends it after the running commands`);
  stop.addEventListener("abort", () => void consumer.stop(), { once: true });
  await consumer.finished;
}

/** The program's environment: this process's own without the API key, plus the fields of the message. */
function environmentOf(env: NodeJS.ProcessEnv, message: ClaimedMessage): NodeJS.ProcessEnv {
  const { POSTRIDER_KEY: _key, ...rest } = env;
  return {
    ...rest,
    POSTRIDER_MESSAGE_ID: message.id,
    POSTRIDER_EVENT_TYPE: message.event_type ?? "",
    POSTRIDER_CORRELATION_ID: message.correlation_id ?? "",
    POSTRIDER_CLAIM_COUNT: String(message.claim_count),
  };
}

interface Program {
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
}

const hasGroups = process.platform !== "win32";

/** Running programs. When this process exits, they end too; on POSIX with all processes of their groups, such as a shell's. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) {
    if (hasGroups && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    else child.kill();
  }
});

/** Runs the program once, with the payload as its input. @throws {RejectMessage} for exit code 65, else {CommandError}. */
async function runOnce({ file, args, env }: Program, payload: string, signal: AbortSignal): Promise<void> {
  const child = spawn(file, args, {
    env,
    stdio: ["pipe", "inherit", "inherit"],
    signal,
    // In a process group of its own, because a terminal sends Ctrl-C to the whole group of this process.
    detached: hasGroups,
  });
  running.add(child);
  // A program may exit without reading its input, which causes EPIPE here.
  child.stdin.on("error", () => undefined);
  child.stdin.end(payload);
  const [code, killedBy] = (await once(child, "exit")
    .catch((cause: unknown) => {
      throw new CommandError(`${file} did not run: ${(cause as Error).message}`, undefined, { cause });
    })
    .finally(() => running.delete(child))) as [number | null, NodeJS.Signals | null];
  if (code === 0) return;
  const how = code === null ? `was ended by ${killedBy}` : `ended with ${code}`;
  if (code === rejectCode) throw new RejectMessage(`${file} ${how}`);
  throw new CommandError(`${file} ${how}`);
}

/** The system's search path for programs when PATH is not set. */
const defaultPath = "/usr/bin:/bin";

/**
 * Checks, before a message is claimed, that the program can be run: otherwise each message would be claimed and released again,
 * and become dead in a mailbox that limits claims. Not checked on Windows, which finds programs without their suffixes.
 * @throws {CommandError} when there is no such program.
 */
function requireProgram(file: string, { PATH: path = defaultPath }: NodeJS.ProcessEnv): void {
  if (process.platform === "win32") return;
  const places = file.includes("/") ? [file] : path.split(delimiter).map((place) => join(place, file));
  if (places.some(isProgram)) return;
  throw new CommandError(`there is no program "${file}" that can be run`, exitCodes.notFound);
}

function isProgram(place: string): boolean {
  try {
    accessSync(place, constants.X_OK);
    return statSync(place).isFile();
  } catch {
    return false;
  }
}
