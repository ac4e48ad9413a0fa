import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { freePort } from "../freePort.ts";
import { programFile } from "../programFile.ts";
import type { AgentOptions, AgentReport, SeenRequest } from "./agentOptions.ts";

/** A peer agent built with the official SDK, in a separate process. */
export interface Agent {
  port: number;
  cardUrl: string;
  report(): Promise<AgentReport>;
  /** The messages that it has received, in order. */
  messages(): Promise<SeenRequest[]>;
  /** SIGSTOP: connections are accepted by the kernel, and nothing is answered. */
  freeze(): void;
  thaw(): void;
  /** Ends the process at once. */
  kill(): Promise<void>;
  /** Kills the agent if it runs, and starts another on the same port, with changed options if given. */
  restart(changes?: AgentOptions): Promise<void>;
}

const startLimitMs = 120_000;
const mainPath = programFile("server/test/support/agent/agentMain.ts");

/** Starts an agent and resolves once it listens. */
export async function startAgent(options: AgentOptions = {}): Promise<Agent> {
  // The agent keeps this port while it is down.
  const port = options.port ?? (await freePort());
  let present = { ...options, port };
  let child = await spawnAgent(present);
  const url = `http://127.0.0.1:${port}`;
  const report = async (): Promise<AgentReport> =>
    (await (await fetch(`${url}/control/report`)).json()) as AgentReport;
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  };
  return {
    port,
    cardUrl: `${url}/card.json`,
    report,
    messages: async () => (await report()).requests.filter(({ path }) => path.endsWith("/message:send")),
    freeze: () => void child.kill("SIGSTOP"),
    thaw: () => void child.kill("SIGCONT"),
    kill,
    async restart(changes = {}) {
      await kill();
      present = { ...present, ...changes };
      child = await spawnAgent(present);
    },
  };
}

async function spawnAgent(options: AgentOptions): Promise<ChildProcess> {
  const child = spawn(process.execPath, [mainPath, JSON.stringify(options)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    const fail = (what: string): void => {
      child.kill("SIGKILL");
      reject(new Error(`the agent ${what}:\n${lines.join("\n")}`));
    };
    const timer = setTimeout(fail, startLimitMs, "does not start");
    child.once("exit", (code) => fail(`ended with ${code}`));
    createInterface(child.stderr).on("line", (line) => lines.push(line));
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      if (!line.startsWith("listening on ")) return;
      clearTimeout(timer);
      resolve();
    });
  });
  return child;
}
