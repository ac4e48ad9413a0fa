import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import { createService, type Service } from "../src/process/assemble.ts";
import { loadConfig } from "../src/config/config.ts";
import { createPool } from "../src/postgres/pool.ts";
import { createLog } from "../src/telemetry/log.ts";
import type { TestDatabase } from "./support/database.ts";
import { stageTest } from "./support/fixtures.ts";
import { createMailbox } from "./support/mailbox.ts";
import { type Call, violations } from "./support/mailboxHistory.ts";
import { createTestNode, type TestNode } from "./support/testNode.ts";
import { replaceFunction } from "./support/otherHands.ts";

const leaseMs = 1_000;
const settings = { LOG_LEVEL: "silent", POSTRIDER_MAILBOX_LEASE_SECONDS: String(leaseMs / 1000) };
const keyNames = ["k1", "k2", "k3", "k4", null, null];
const messagesPerProducer = 60;
const consumers = 16;
const chaosMs = 6_000;
/** Number of recorded histories; use `MAILBOX_HISTORIES=10` or more after a change of claims. */
const histories = Number(process.env["MAILBOX_HISTORIES"] ?? 1);

interface Message {
  id: string;
  claim_token: string;
}

/** A service whose clock is wrong by `skewMs`. */
interface SkewedNode {
  service: Service;
  stop(): Promise<void>;
}

function startSkewed(database: TestDatabase, skewMs: number): SkewedNode {
  const pool = createPool({ connection: database.connection, size: 8, onError: () => undefined });
  const config = loadConfig(settings);
  const service = createService({
    config,
    pool,
    encryptionKey: Buffer.alloc(32, 7),
    log: createLog(config.logLevel),
    nowMs: () => Date.now() + skewMs,
  });
  return {
    service,
    async stop() {
      await service.stop();
      await pool.end();
    },
  };
}

/** Returns a generator of numbers from 0 to 1 (mulberry32), so that the choices of a run follow from its seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The calls of all clients of one mailbox, and their record. */
class Run {
  readonly calls: Call[] = [];
  readonly #nodes: SkewedNode[];
  readonly #keys: string[];
  readonly #mailboxId: string;
  readonly #random: () => number;
  isOver = false;

  constructor(nodes: SkewedNode[], keys: string[], mailboxId: string, seed: number) {
    this.#nodes = nodes;
    this.#keys = keys;
    this.#mailboxId = mailboxId;
    this.#random = randomFrom(seed);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(options: readonly T[]): T {
    return options[Math.floor(this.#random() * options.length)]!;
  }

  /** Sends messages one after another through any node, each after the previous one was accepted. */
  async produce(orderingKey: string | null): Promise<void> {
    for (let n = 0; n < messagesPerProducer; n++) {
      await this.#send(n, orderingKey);
      await delay(this.#random() * 20);
    }
  }

  /** Acknowledges with the token of a lapsed claim after the same API key has claimed the message again. */
  async acknowledgeStale(): Promise<void> {
    const key = this.#keys[0]!;
    await this.#send(messagesPerProducer, null);
    const stale = (await this.#claim(key, 1, false))[0]!;
    await delay(leaseMs * 1.1);
    const current = (await this.#claim(key, 1, false))[0]!;
    await this.#change("ack", key, stale);
    await this.#change("ack", key, current);
  }

  /** Claims messages and handles each as careless, slow or crashing consumers would. */
  async consumeBadly(): Promise<void> {
    const key = this.pick(this.#keys);
    const isLost = this.chance(0.05);
    const messages = await this.#claim(key, 1 + Math.floor(this.#random() * 4), isLost);
    await Promise.all(messages.map((message) => this.#mishandle(key, message)));
  }

  /** Claims and acknowledges without faults. */
  async consumeWell(): Promise<void> {
    const key = this.pick(this.#keys);
    for (const message of await this.#claim(key, 20, false)) await this.#change("ack", key, message);
  }

  async read(id: string): Promise<string> {
    const startedAtMs = performance.now();
    const { body } = await this.#request("GET", `/api/v1/mailbox-messages/${id}`, this.#keys[0]!);
    this.calls.push({ kind: "read", id, state: body.status, startedAtMs, endedAtMs: performance.now() });
    return body.status;
  }

  async #send(n: number, orderingKey: string | null): Promise<void> {
    const startedAtMs = performance.now();
    const headers: Record<string, string> = orderingKey === null ? {} : { "x-ordering-key": orderingKey };
    const { body } = await this.#post(`/t/${this.#mailboxId}`, { n }, this.#keys[0]!, headers);
    this.calls.push({ kind: "send", id: body.id, orderingKey, startedAtMs, endedAtMs: performance.now() });
  }

  async #mishandle(key: string, message: Message): Promise<void> {
    const luck = this.#random();
    if (luck < 0.08) return;
    if (luck < 0.18) await delay(leaseMs * (0.95 + this.#random() * 0.8));
    else if (luck < 0.24) await this.#change("release", key, message);
    else if (luck < 0.28) return this.#change("reject", key, message);
    else if (luck < 0.36) {
      await delay(leaseMs * 0.6);
      await this.#change("extend", key, message);
      await delay(leaseMs * (0.3 + this.#random()));
    } else await delay(this.#random() * 30);
    await this.#change("ack", key, message, this.chance(0.1));
    if (this.chance(0.2)) await this.#change("ack", key, message);
  }

  async #claim(key: string, max: number, isLost: boolean): Promise<Message[]> {
    const startedAtMs = performance.now();
    const path = `/api/v1/mailboxes/${this.#mailboxId}/claim`;
    const { body } = await this.#post(path, { max, wait_seconds: 1 }, key);
    const messages: Message[] = isLost ? [] : body.messages;
    this.calls.push({
      kind: "claim",
      claims: isLost ? null : messages.map(({ id, claim_token: token }) => ({ id, token })),
      startedAtMs,
      endedAtMs: performance.now(),
    });
    return messages;
  }

  async #change(
    kind: "ack" | "reject" | "release" | "extend",
    key: string,
    { id, claim_token }: Message,
    isLost = false,
  ): Promise<void> {
    const startedAtMs = performance.now();
    const isSingle = kind === "ack" && this.chance(0.5);
    const { status, body } = isSingle
      ? await this.#post(`/api/v1/mailbox-messages/${id}/ack`, { claim_token }, key)
      : await this.#post(
          `/api/v1/mailboxes/${this.#mailboxId}/${kind}`,
          { messages: [{ id, claim_token }] },
          key,
        );
    const answered = isSingle ? status : body.results[0].status;
    this.calls.push({
      kind,
      id,
      token: claim_token,
      status: isLost ? null : answered,
      startedAtMs,
      endedAtMs: performance.now(),
    });
  }

  #post(path: string, body: object, key: string, headers: Record<string, string> = {}) {
    return this.#request("POST", path, key, body, headers);
  }

  // oxlint-disable-next-line eslint/max-params -- the parts of a request
  async #request(
    method: "GET" | "POST",
    path: string,
    key: string,
    body?: object,
    headers: Record<string, string> = {},
    // oxlint-disable-next-line typescript/no-explicit-any -- the record keeps some of its fields
  ): Promise<{ status: number; body: any }> {
    const response = await this.pick(this.#nodes).service.app.inject({
      method,
      url: path,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body && { payload: JSON.stringify(body) }),
    });
    if (response.statusCode >= 500) throw new Error(`${path} answered ${response.statusCode}`);
    return { status: response.statusCode, body: response.json() };
  }
}

/** Runs producers and consumers with all faults, then consumes the remaining messages without faults. */
async function record(database: TestDatabase, helper: TestNode, seed: number): Promise<Call[]> {
  const box = await createMailbox(helper);
  const keys = [box.account.api_key, await box.newKey()];
  const nodes = [startSkewed(database, 17_000), startSkewed(database, -23_000)];
  for (const { service } of nodes) service.mailboxes.start();
  try {
    const run = new Run(nodes, keys, box.id, seed);
    const producing = Promise.all(keyNames.map((name) => run.produce(name)));
    const endAtMs = performance.now() + chaosMs;
    const consumer = async (): Promise<void> => {
      while (performance.now() < endAtMs) await run.consumeBadly();
    };
    await Promise.all([producing, ...Array.from({ length: consumers }, consumer)]);
    const isEmpty = async (): Promise<boolean> => (await box.list("?limit=1")).length === 0;
    while (!(await isEmpty())) await run.consumeWell();
    await run.acknowledgeStale();
    for (const call of run.calls.slice()) if (call.kind === "send") await run.read(call.id);
    return run.calls;
  } finally {
    for (const node of nodes) await node.stop();
  }
}

const it = stageTest.extend("helper", ({ database }, { onCleanup }) => {
  const helper = createTestNode(database);
  onCleanup(() => helper.stop());
  return helper;
});

describe.concurrent("the history of a mailbox under crashes, pauses, late and repeated calls and skewed clocks", () => {
  it.for(Array.from({ length: histories }, (_, index) => index + 1))(
    "has no overlapping claims, no loss, no double end, and keeps its order (seed %i)",
    async (seed, { database, helper }) => {
      const calls = await record(database, helper, seed);
      const sent = calls.filter((call) => call.kind === "send");
      const late = calls.filter((call) => call.kind === "ack" && call.status === 409);
      expect(sent).toHaveLength(keyNames.length * messagesPerProducer + 1);
      const found = violations(calls, leaseMs);
      expect(found, found.join("\n")).toEqual([]);
      expect(late.length, "the run had late acknowledgements").toBeGreaterThan(0);
    },
  );

  it("shows violations in a build whose acknowledgement does not check the token", async ({
    database,
    helper,
  }) => {
    const file = new URL("../src/postgres/sql/mailbox/close_messages.sql", import.meta.url);
    const text = await readFile(file, "utf8");
    const checks = [
      "and (p_claim_tokens[1] is null or m.claim_token = p_claim_tokens[1])",
      "and (i.claim_token is null or m.claim_token = i.claim_token)",
    ];
    const unchecked = checks.reduce((sql, check) => {
      expect(sql).toContain(check);
      return sql.replace(check, "");
    }, text);
    await replaceFunction(helper.pool, unchecked);
    const calls = await record(database, helper, 3);
    expect(violations(calls, leaseMs)).not.toEqual([]);
  });
});
