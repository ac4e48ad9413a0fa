import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { StripeConfig } from "../../../src/config/config.ts";
import { programFile } from "../programFile.ts";
import type { Control } from "./control.ts";
import type { Customer, Invoice, MeterEvent, Session, Subscription } from "./world.ts";

export interface StandIn {
  apiBase: string;
  /** An account for one test. */
  account(name: string): StandInAccount;
  stop(): Promise<void>;
}

export interface StandInAccount {
  config: StripeConfig;
  control<T = object>(request: Control): Promise<T>;
  state(): Promise<StandInState>;
}

export interface StandInState {
  now: number;
  customers: Customer[];
  sessions: Session[];
  subscriptions: Subscription[];
  invoices: Invoice[];
  meterEvents: MeterEvent[];
  outbox: { id: string; type: string; delivered: boolean }[];
  overlaps: number;
  requests: Record<string, number>;
}

const program = programFile("server/test/support/stripeStandIn/main.ts");

/** Starts the processor's stand-in as a separate process. */
export async function startStandIn(): Promise<StandIn> {
  const child = spawn(process.execPath, [program, "--until-stdin-ends"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const port = await readPort(child);
  const apiBase = `http://127.0.0.1:${port}`;
  return {
    apiBase,
    account: (name) => createAccount(apiBase, name),
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function readPort(child: ChildProcess): Promise<number> {
  const lines = createInterface({ input: child.stdout! });
  const [line] = (await once(lines, "line")) as [string];
  return (JSON.parse(line) as { port: number }).port;
}

function createAccount(apiBase: string, name: string): StandInAccount {
  const secretKey = `sk_test_${name.replaceAll(/\W/g, "_")}`;
  async function control<T>(request: Control): Promise<T> {
    const response = await fetch(`${apiBase}/_control`, {
      method: "POST",
      headers: { authorization: `Bearer ${secretKey}`, "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    if (!response.ok) throw new Error(`the stand-in refused ${request.action}: ${await response.text()}`);
    return (await response.json()) as T;
  }
  return {
    config: {
      kind: "stripe",
      secretKey,
      webhookSecrets: ["whsec_current", "whsec_previous"],
      priceId: "price_items",
      meterEventName: "items_accepted",
      meterId: "mtr_items",
      apiBase,
    },
    control,
    state: () => control<StandInState>({ action: "state" }),
  };
}
