import { PostriderError } from "../../sdk/src/client.ts";
import type { Command, Input } from "./command.ts";
import { commands } from "./commands.ts";
import { exitCodeOf, exitCodes, type ExitCode, UsageError, reasonOf } from "./exitCodes.ts";
import { helpOf } from "./help.ts";
import { createOutput, type Output, plain, type Stream } from "./output.ts";
import { findConnection, findUrl } from "./profile/credential.ts";
import type { SecretSource } from "./profile/readSecret.ts";
import { asksForHelp, findCommand, type Found, readInput } from "./readInput.ts";
import { openService, type Session } from "./session.ts";

/** The parts of the process that a command uses. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  stdin: SecretSource;
  stdout: Stream;
  stderr: Stream;
  untilStopped: () => AbortSignal;
}

/** Runs a command line. @returns the exit code, see `exitCodes`. */
export async function main(args: readonly string[], around: Surroundings): Promise<ExitCode> {
  const { found, isHelp } = read(args);
  const out = createOutput(around, args.includes("--json"), around.env);
  const called: Called = {};
  try {
    if (args.some((word) => word.includes("ak_live_"))) throw new UsageError(keyInArguments);
    if (isHelp && isUnknown(found)) throw new UsageError(whatIsMissing(found));
    if (isHelp || (found.path.length === 0 && found.args.length === 0)) {
      out.raw(helpOf(found.command, found.path));
      return exitCodes.done;
    }
    if (found.command.run === undefined) throw new UsageError(whatIsMissing(found));
    const input = readInput(found);
    await found.command.run(sessionOf(input, { ...around, out, called }), input);
    return exitCodes.done;
  } catch (error) {
    out.say(`postrider: ${plain(sentenceOf(error, called))}`);
    if (error instanceof UsageError) out.say(hintFor(found.command, found.path));
    return exitCodeOf(error);
  }
}

const keyInArguments =
  "do not pass an API key as an argument, because other users of this machine can read it: set POSTRIDER_KEY, or use --key-stdin";

/** Finds the command that the arguments name. `help target` is read as `target --help`. */
function read(args: readonly string[]): { found: Found; isHelp: boolean } {
  const isVersion = args[0] === "--version";
  const isHelp = args[0] === "help" || asksForHelp(args);
  const words = isVersion ? ["version"] : args.filter((word, index) => index > 0 || word !== "help");
  return { found: findCommand(commands, words), isHelp };
}

/** Whether the next argument is not the name of a command, though only a command can follow. */
function isUnknown({ command, args }: Found): boolean {
  return command.run === undefined && args[0] !== undefined && !args[0].startsWith("-");
}

function whatIsMissing({ command, path, args }: Found): string {
  const [word] = args;
  const name = path.join(" ");
  if (word?.startsWith("-") === true)
    return `options come after the command: ${["postrider", ...path, "<command>", word].join(" ")}`;
  if (word !== undefined) {
    const names =
      path.length === 0
        ? ""
        : `; commands of ${name}: ${command.commands!.map((one) => one.name).join(", ")}`;
    return `there is no command "${[...path, word].join(" ")}"${names}`;
  }
  return `a subcommand is missing: ${command.commands!.map((one) => `${name} ${one.name}`).join(", ")}`;
}

function hintFor(command: Command, path: readonly string[]): string {
  const usage =
    command.run === undefined ? "" : `Usage: postrider ${path.join(" ")} ${command.words ?? ""}\n`;
  return `${usage}More: postrider ${[...path, "--help"].join(" ")}`;
}

/** The address of the service, once the command has one. */
interface Called {
  url?: string;
}

function sessionOf(
  input: Input,
  { out, called, ...around }: Surroundings & { out: Output; called: Called },
): Session {
  const asked = {
    url: input.text("server"),
    profile: input.text("profile"),
    keyStdin: input.flag("key-stdin"),
  };
  return {
    out,
    env: around.env,
    stdin: around.stdin,
    untilStopped: around.untilStopped,
    url: () => (called.url = findUrl(asked, around.env)),
    async connect() {
      const service = openService(await findConnection(asked, { ...around, say: out.say }), out.say);
      called.url = service.connection.url;
      return service;
    },
  };
}

/** The message for an error; if the service did not answer, with the network's error and advice. */
function sentenceOf(error: unknown, { url }: Called): string {
  if (!(error instanceof Error)) return String(error);
  // The client checks only that an answer has its first field; another service's answer may lack the others.
  if (url !== undefined && (error instanceof TypeError || error instanceof RangeError))
    return `${url} answered with something else than Postrider does (${error.message}): is this the address of a Postrider service?`;
  if (error instanceof PostriderError && error.status === 401)
    return `the service does not accept the API key (${error.message}): create one in the dashboard (Keys), and set POSTRIDER_KEY or use postrider login`;
  if (!(error instanceof PostriderError) || error.status !== 0) return error.message;
  const isLate = (error.cause as Error | undefined)?.name === "TimeoutError";
  const reason = isLate ? "" : reasonOf(error.cause);
  return `${error.message}${reason === "" ? "" : ` (${reason})`}: check that the service runs and that the address is right; postrider doctor shows details`;
}
