import { randomBytes } from "node:crypto";
import type { LightMyRequestResponse } from "fastify";
import type pg from "pg";
import { loadConfig } from "../../src/config/config.ts";
import { closeCells, openCells } from "../../src/postgres/cells.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { createService, type Service } from "../../src/process/assemble.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { watchContract } from "./contract.ts";
import { citusUrl } from "./citus.ts";
import { shownSchema, type TestDatabase } from "./database.ts";
import { switches } from "./plain.ts";

export interface CallOptions {
  body?: unknown;
  /** An API key. */
  key?: string | undefined;
  /** A session token. */
  session?: string | undefined;
  headers?: Record<string, string>;
  /** The client's address. */
  from?: string;
}

export interface Answer {
  status: number;
  /** The parsed JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert the content
  body: any;
  headers: LightMyRequestResponse["headers"];
}

/** The parts of one service process, on a database that other nodes may share. */
export interface TestNode {
  pool: pg.Pool;
  service: Service;
  /**
   * A pool with the tables of an organization's cell, for tests that lock or change its rows: `pool` may show them
   * as views.
   */
  cellPool(orgId: string): pg.Pool;
  /** Sends one request through the whole server, without a socket. */
  call(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options?: CallOptions,
  ): Promise<Answer>;
  /** Listens on the loopback address; repeated calls return the same base URL. */
  listen(): Promise<string>;
  /** @throws {Error} when any answer since the last call violated the OpenAPI document. */
  refuseProblems(): void;
  stop(): Promise<void>;
}

export interface Account {
  user: { id: string; email: string; name: string; org_id: string; role: string };
  session_token: string;
  api_key: string;
  password: string;
}

const withoutLimits = { POSTRIDER_SIGNUP_LIMIT: "1000000", POSTRIDER_LOGIN_LIMIT: "1000000" };

/**
 * A node with the settings `env`, whose clock is `skewMs` ahead of the database's; signup and login are not
 * limited by default. It does not dispatch or maintain. `call` and `stop` fail when any answer so far violated the
 * OpenAPI document.
 */
export function createTestNode(
  database: TestDatabase,
  env: Record<string, string> = {},
  { skewMs = 0 }: { skewMs?: number } = {},
): TestNode {
  const config = loadConfig({ LOG_LEVEL: "silent", ...withoutLimits, ...switches, ...env });
  const options = {
    connection: database.connection,
    // Each connection costs about 15 ms of CPU time.
    size: 5,
    isPlain: config.fastSql === "off",
    onError: () => undefined,
  };
  const pool = createPool(options);
  const cells = openCells(pool, Number(config.cells), options);
  // Many simultaneous calls wait for the few connections longer than the service's 3 s while other tests keep the
  // machine busy.
  for (const any of [pool, ...cells.all().map((cell) => cell.pool)])
    any.options.connectionTimeoutMillis = 15_000;
  // With one cell the tests use the service's pool.
  const shown = shownSchema === undefined ? pool : createPool({ ...options, schema: shownSchema, size: 2 });
  const service = createService({
    config,
    pool,
    cells,
    encryptionKey: Buffer.alloc(32, 7),
    log: createLog(config.logLevel),
    nowMs: () => Date.now() + skewMs,
  });
  const problems = watchContract(service.app);
  const followed = citusUrl === undefined ? undefined : service.followCells();
  let listening: Promise<string> | undefined;
  return {
    pool: shown,
    service,
    cellPool: (orgId) => cells.ofOrg(orgId).pool,
    async call(method, path, { body, key, session, headers, from } = {}) {
      await followed;
      const response = await service.app.inject({
        method,
        url: path,
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(session !== undefined && { "x-session-token": session }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
        ...(from !== undefined && { remoteAddress: from }),
      });
      refuseProblems(problems);
      return {
        status: response.statusCode,
        body: readBody(response),
        headers: response.headers,
      };
    },
    async listen() {
      await followed;
      return (listening ??= service.app.listen({ port: 0, host: "127.0.0.1" }));
    },
    refuseProblems: () => refuseProblems(problems),
    async stop() {
      await service.stop();
      await closeCells(cells, pool);
      if (shown !== pool) await shown.end();
      await pool.end();
      refuseProblems(problems);
    },
  };
}

/** A node that may deliver to loopback, dispatches and listens. */
export async function startTestNode(database: TestDatabase): Promise<TestNode & { url: string }> {
  const node = createTestNode(database, {
    POSTRIDER_ALLOW_HTTP_TARGETS: "true",
    POSTRIDER_ALLOWED_NETWORKS: "127.0.0.0/8",
  });
  const url = await node.listen();
  node.service.start();
  return { ...node, url };
}

/** Returns JSON as its value, and other text unchanged. */
function readBody(response: LightMyRequestResponse): unknown {
  if (response.body === "") return undefined;
  const isJson = String(response.headers["content-type"]).startsWith("application/json");
  return isJson ? response.json() : response.body;
}

function refuseProblems(problems: string[]): void {
  const found = problems.splice(0);
  if (found.length > 0) throw new Error(`the answers break the OpenAPI document:\n${found.join("\n")}`);
}

/** An unused email address. */
export function newEmail(): string {
  return `${randomBytes(8).toString("hex")}@example.com`;
}

/** Signs up a new user. */
export async function signUp(
  node: Pick<TestNode, "call">,
  email: string = newEmail(),
  name?: string,
): Promise<Account> {
  const password = randomBytes(12).toString("hex");
  const { status, body } = await node.call("POST", "/api/v1/auth/signup", {
    body: { email, password, name },
  });
  if (status !== 200 || body.user === undefined) throw new Error(`signup: ${status} ${JSON.stringify(body)}`);
  return { ...body, password };
}

/** The pattern of a refusal with this status and message. */
export function refusal(status: number, error: string): { status: number; body: { error: string } } {
  return { status, body: { error } };
}

/** The body of an answer with status 200. @throws {Error} for any other status. */
export async function bodyOf(answering: Promise<Answer>): Promise<Answer["body"]> {
  const { status, body } = await answering;
  if (status !== 200) throw new Error(`${status} in place of 200: ${JSON.stringify(body)}`);
  return body;
}

/** Whether a key or a session is accepted; fails on any other answer than acceptance or 401. */
export async function isAccepted(
  on: Pick<TestNode, "call">,
  credential: { key: string } | { session: string },
): Promise<boolean> {
  const { status } = await on.call("GET", "/api/v1/auth/me", credential);
  if (status !== 200 && status !== 401) throw new Error(`auth/me: ${status}`);
  return status === 200;
}
