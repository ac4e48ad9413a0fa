import { PassThrough, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { main } from "../../src/main.ts";
import { plainEnvironment, type Program, startProgram } from "../../../server/test/support/program.ts";

/** The command of the package `@postrider/cli`. */
export const clientFile = fileURLToPath(new URL("../../bin/postrider.cjs", import.meta.url));

/** An address at which nothing listens, and that fetch does not refuse by itself. */
export const nowhere = "http://127.0.0.1:2";

/** Exit code and output of a command. */
export interface Ran {
  code: number | null;
  out: string;
  err: string;
  /** Parses each line of the output as JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert what is in it
  json: () => any[];
}

export interface RunOptions {
  env?: Record<string, string>;
  /** Text on the standard input, which ends after it; empty by default. */
  input?: string;
}

/** Runs a command line to its end, within this process: starting Node a hundred times takes a minute. */
export async function run(args: readonly string[], { env = {}, input = "" }: RunOptions = {}): Promise<Ran> {
  const stdout = new Collected();
  const stderr = new Collected();
  const stdin = new PassThrough();
  stdin.end(input);
  const code = await main(args, {
    env: { ...plainEnvironment(), ...env },
    stdin,
    stdout,
    stderr,
    untilStopped: () => new AbortController().signal,
  });
  const out = stdout.text;
  const json = (): unknown[] =>
    out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  return { code, out, err: stderr.text, json };
}

class Collected extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString("utf8");
    done();
  }
}

/** Starts `postrider` as a process, for a command that runs until it is stopped. Its pid is also the id of its process group. */
export function start(args: readonly string[], env: Record<string, string>): Program {
  return startProgram({ command: [process.execPath, clientFile, ...args], env, isLeader: true });
}
