import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { programFile } from "./programFile.ts";
import { until } from "./until.ts";

/** How a program ended. */
export interface ProgramEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A program as started in a terminal. */
export interface Program {
  pid: number;
  /** Output on both streams. */
  output(): string;
  /** Resolves to the match once the output matches; rejects after `limitMs`, and when the program ends first. */
  says(pattern: RegExp, limitMs?: number): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  ended: Promise<ProgramEnd>;
}

export interface ProgramOptions {
  /** The program and its arguments; the service if absent. */
  command?: readonly string[];
  /** Added to the tests' environment without the settings of the service. */
  env?: Record<string, string>;
  cwd?: string;
  /** Whether it leads a new process group, as in a shell. */
  isLeader?: boolean;
}

/** The service and its commands as tests run them; it starts in half the time of `commandFile`. */
export const serviceFile = programFile("server/src/process/cli.ts");

/** The command that `npm start` and a package run. */
export const commandFile = fileURLToPath(new URL("../../bin/postrider.cjs", import.meta.url));

/** An encryption key for services. */
export const someKey = Buffer.alloc(32, 7).toString("base64");

export function startProgram({ command, env = {}, cwd, isLeader = false }: ProgramOptions): Program {
  const [file, ...args] = command ?? [process.execPath, serviceFile, "serve"];
  const child = spawn(file!, args, {
    cwd,
    detached: isLeader,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...plainEnvironment(), LOG_LEVEL: "warn", PORT: "0", ...env },
  });
  const killAtExit = (): void => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  let output = "";
  let end: ProgramEnd | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once("close", (code, signal) => {
      process.off("exit", killAtExit);
      end = { code, signal };
      resolve(end);
    });
  });
  return {
    pid: child.pid!,
    output: () => output,
    async says(pattern, limitMs = 60_000) {
      await until(
        () => pattern.test(output) || end !== undefined,
        (isOver) => isOver,
        limitMs,
      ).catch((error: unknown) => {
        throw new Error(`it does not say ${pattern}, but:\n${output}`, { cause: error });
      });
      const found = pattern.exec(output);
      if (found === null) throw new Error(`it ended (${JSON.stringify(end)}) without ${pattern}:\n${output}`);
      return found;
    },
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

/** The environment without the settings of a service, and without the variables that `npm` sets for scripts. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const steering = /^(POSTRIDER_|DATABASE_URL$|STRIPE_|npm_lifecycle_)/i;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !steering.test(name)));
}
