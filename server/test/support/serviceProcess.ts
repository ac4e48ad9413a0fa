import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { contractProblem, documentedPath } from "./contract.ts";
import { switches } from "./plain.ts";
import { programFile } from "./programFile.ts";
import type { Answer, CallOptions } from "./testNode.ts";

export interface ServiceOptions {
  /** Storage of the service: a database that others may share, or the directory of an embedded one. */
  storage: { databaseUrl: string } | { dataDir: string };
  env?: Record<string, string>;
  /** Path of another version's command; its answers are not compared with the OpenAPI document of this version. */
  command?: string;
  /** Kills the process by SIGKILL, also during its start. */
  killedBy?: AbortSignal;
  /** Time limit for the start, milliseconds; a minute by default. */
  startLimitMs?: number;
}

export interface ServiceCall extends CallOptions {
  /** The exact bytes of the body, instead of `body` as JSON. */
  payload?: string | Buffer;
}

/** A real process of the service, reached over HTTP. */
export interface ServiceProcess {
  url: string;
  port: number;
  pid: number;
  /**
   * Sends one request; rejects when the service is unreachable, dies meanwhile, or its answer violates the OpenAPI
   * document.
   */
  call(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options?: ServiceCall,
  ): Promise<Answer>;
  kill(signal: NodeJS.Signals): void;
  /** Sends SIGTERM, and resolves to the exit code; null when the process had to be killed. */
  stop(): Promise<number | null>;
  /** Resolves to the exit code at the process's end; null when a signal ended it. */
  ended: Promise<number | null>;
  isRunning(): boolean;
  /** Everything that it wrote, including log lines. */
  output(): string;
}

const usualStartLimitMs = 60_000;
/** Longer than the service's own limit on stopping. */
const stopLimitMs = 40_000;
const cli = programFile("server/src/process/cli.ts");
const defaults = {
  HOST: "127.0.0.1",
  PORT: "0",
  LOG_LEVEL: "warn",
  // A start opens the maximal number of connections, at about 15 ms of CPU time each.
  POSTRIDER_DATABASE_POOL: "5",
  POSTRIDER_SIGNUP_LIMIT: "1000000",
  POSTRIDER_LOGIN_LIMIT: "1000000",
  POSTRIDER_ALLOW_HTTP_TARGETS: "true",
  POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8,::1/128",
};

/** One encryption key for all nodes of a test, so that each can decrypt the others' secrets. */
const encryptionKey = Buffer.alloc(32, 7).toString("base64");

/** Starts `postrider serve` on a free port and resolves once it listens; plain HTTP targets on loopback are allowed. */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { storage, env = {}, command, killedBy, startLimitMs = usualStartLimitMs } = options;
  const child = spawn(process.execPath, [command ?? cli, "serve"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...inherited(), ...defaults, ...storageVariables(storage), ...switches, ...env },
  });
  // A test that fails half-way must not leave a service running.
  const killAtExit = (): void => void child.kill("SIGKILL");
  process.once("exit", killAtExit);
  killedBy?.addEventListener("abort", killAtExit);
  child.once("exit", () => process.off("exit", killAtExit));
  const lines: string[] = [];
  createInterface(child.stdout).on("line", (line) => lines.push(line));
  const ended = new Promise<number | null>((resolve) => child.once("exit", (code) => resolve(code)));
  const port = await new Promise<number>((resolve, reject) => {
    const fail = (what: string): void => {
      child.kill("SIGKILL");
      reject(new Error(`the service ${what}:\n${lines.join("\n")}`));
    };
    const timer = setTimeout(fail, startLimitMs, "does not start");
    void ended.then((code) => fail(`ended with ${code}`));
    createInterface(child.stderr).on("line", (line) => {
      lines.push(line);
      const found = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(line);
      if (found === null) return;
      clearTimeout(timer);
      resolve(Number(found[1]));
    });
  });
  const url = `http://127.0.0.1:${port}`;
  const server = { url, isDocumented: command === undefined };
  return {
    url,
    port,
    pid: child.pid!,
    call: (method, path, options) => callOver(server, method, path, options),
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
      const code = await ended;
      clearTimeout(timer);
      return code;
    },
    ended,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    output: () => lines.join("\n"),
  };
}

/** The environment without the settings of the service. */
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(POSTRIDER_|DATABASE_URL$|STRIPE_|OTEL_)/i.test(name)),
  );
}

function storageVariables(storage: ServiceOptions["storage"]): Record<string, string> {
  if ("dataDir" in storage) return { POSTRIDER_DATA_DIR: storage.dataDir };
  return { DATABASE_URL: storage.databaseUrl, POSTRIDER_ENCRYPTION_KEY: encryptionKey };
}

async function callOver(
  { url, isDocumented }: { url: string; isDocumented: boolean },
  method: string,
  path: string,
  { body, payload, key, session, headers }: ServiceCall = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(session !== undefined && { "x-session-token": session }),
      ...((body !== undefined || payload !== undefined) && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(payload !== undefined && { body: payload }),
  });
  const text = await response.text();
  const { status } = response;
  const answered = Object.fromEntries(response.headers);
  const given = { method, path: documentedPath(path), status, headers: answered, text };
  const problem = isDocumented ? contractProblem(given) : undefined;
  if (problem !== undefined) throw new Error(`the answer breaks the OpenAPI document: ${problem}`);
  return { status, body: text === "" ? undefined : JSON.parse(text), headers: answered };
}
