import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "./support/database.ts";
import { serviceFile } from "./support/program.ts";
import { newEmail } from "./support/testNode.ts";
import { takeAwayTables } from "./support/otherHands.ts";

let database: TestDatabase;
let service: ChildProcess;
let output = "";
let url: string;

beforeAll(async () => {
  database = await createTestDatabase();
  service = spawn(process.execPath, [serviceFile, "serve"], {
    env: {
      PATH: process.env["PATH"],
      PORT: "0",
      DATABASE_URL: database.url,
      POSTRIDER_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
      POSTRIDER_SIGNUP_LIMIT: "1000",
      POSTRIDER_LOGIN_LIMIT: "1000",
      LOG_LEVEL: "trace",
      POSTRIDER_LOG_REQUESTS: "true",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [service.stdout!, service.stderr!]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  url = await vi.waitUntil(() => /listens on (http:\S+)/.exec(output)?.[1], { timeout: 30_000 });
});

afterAll(async () => {
  if (service.exitCode === null) service.kill("SIGKILL");
  await database.drop();
});

it("the log contains no password, key or token, whatever error occurs", async () => {
  const email = newEmail();
  const password = "correct-horse-battery";
  const wrong = "wrong-horse-battery";
  const signup = await post("/api/v1/auth/signup", { email, password });
  const account = (await signup.json()) as { api_key: string; session_token: string };
  const taken = await post("/api/v1/auth/signup", { email, password: wrong });
  const login = await post("/api/v1/auth/login", { email, password });
  const { session_token: second } = (await login.json()) as { session_token: string };
  const refused = await post("/api/v1/auth/login", { email, password: wrong });
  const session = { "x-session-token": account.session_token };
  const key = { authorization: `Bearer ${account.api_key}` };
  const unknownKey = `ak_live_${"ab".repeat(32)}`;
  const created = await post("/api/v1/keys", { name: "another" }, session);
  const { key: createdKey } = (await created.json()) as { key: string };
  const invited = await post("/api/v1/invitations", { role: "viewer" }, session);
  const { token: invitation } = (await invited.json()) as { token: string };
  const another = await post("/api/v1/invitations", { role: "viewer" }, session);
  const { token: unused } = (await another.json()) as { token: string };
  const joined = { token: invitation, email: newEmail(), password: "password-of-a-new-member" };
  const change = { current_password: wrong, new_password: "the-next-password" };
  const others = [
    await post("/api/v1/auth/password", change, session),
    await post("/api/v1/invitations/accept", { ...joined, password: "short" }),
    await post("/api/v1/invitations/accept", joined),
    await post("/api/v1/invitations/accept", joined),
    await post("/api/v1/keys", { name: "another" }, key),
    await post("/api/v1/auth/login", `{"email":"${email}","password":"${password}`),
    await post("/api/v1/auth/login", { email, password: [password] }),
    await fetch(`${url}/api/v1/keys?key=${account.api_key}`, { headers: key }),
    await fetch(`${url}/api/v1/keys/${account.api_key}`, { method: "DELETE", headers: key }),
    await fetch(`${url}/api/v1/keys`, { headers: { authorization: `Bearer ${unknownKey}` } }),
  ];
  expect([signup, taken, login, refused, created, ...others].map(({ status }) => status)).toEqual([
    200, 200, 200, 401, 200, 403, 400, 200, 410, 403, 400, 400, 400, 404, 401,
  ]);
  const answers = (await Promise.all(others.map((answer) => answer.text()))).join("\n");
  const { session_token: third } = JSON.parse(answers.split("\n")[2]!) as { session_token: string };

  // Errors of the database are logged completely, so every statement on these tables is made to fail.
  await takeAwayTables(database.url, ["sessions", "api_keys", "users"]);
  const failures = [
    await post("/api/v1/auth/signup", { email: newEmail(), password }),
    await post("/api/v1/auth/login", { email, password }),
    await fetch(`${url}/api/v1/auth/me`, { headers: session }),
    await fetch(`${url}/api/v1/keys`, { headers: key }),
    await post("/api/v1/invitations/accept", { ...joined, token: unused }),
  ];
  expect(failures.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500]);
  for (const failure of failures) expect(await failure.json()).toEqual({ error: "internal error" });

  service.kill("SIGTERM");
  await once(service, "close");
  expect(output.match(/"msg":"request"/g)?.length).toBeGreaterThanOrEqual(15);
  expect(output).toContain('"msg":"request failed"');
  expect(output).not.toContain(third.slice("ses_".length));
  for (const secret of [
    password,
    wrong,
    joined.password,
    change.new_password,
    ...[invitation, unused].map((text) => text.slice("inv_".length)),
    ...[account.api_key, createdKey, unknownKey].map((text) => text.slice("ak_live_".length)),
    ...[account.session_token, second].map((text) => text.slice("ses_".length)),
    "$argon2id$",
  ]) {
    expect(output).not.toContain(secret);
    expect(answers).not.toContain(secret);
  }
});

function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}
