import { createServer } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished } from "vitest";
import { limitConnections } from "./support/otherHands.ts";
import { databaseTest, file } from "./support/fixtures.ts";
import { type Program, someKey, startProgram } from "./support/program.ts";
import { childrenOf } from "./support/workers.ts";

const it = databaseTest().extend("start", file, ({ database }) => (env: Record<string, string>): Program => {
  const program = startProgram({
    env: { DATABASE_URL: database.url, POSTRIDER_ENCRYPTION_KEY: someKey, POSTRIDER_PROCESSES: "2", ...env },
  });
  onTestFinished(() => program.kill("SIGKILL"));
  return program;
});

it.for([
  [
    "a number that is none",
    { POSTRIDER_PROCESSES: "two" },
    'must be a whole number from 1 to 64, or auto, not "two"',
  ],
  [
    "more than one for maintenance alone",
    { POSTRIDER_ROLES: "maintenance" },
    "POSTRIDER_PROCESSES must be 1 for a process that has the role maintenance alone",
  ],
  [
    "more connections than the database allows",
    { POSTRIDER_DATABASE_POOL: "200" },
    /POSTRIDER_PROCESSES=2 with POSTRIDER_DATABASE_POOL=200 may open \d+ connections to the database, which allows \d+: /,
  ],
  ["no address of this machine", { HOST: "192.0.2.1" }, "HOST=192.0.2.1 is no address of this machine"],
] as const)("%s", async ([, env, sentence], { start }) => {
  const program = start(env);
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output()).toMatch(sentence);
  expect(childrenOf(program)).toEqual([]);
});

it("more connections than the limit of the database is refused", async ({ start, database }) => {
  await limitConnections(database.url, 20);
  onTestFinished(() => limitConnections(database.url, -1));
  const program = start({});
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output()).toMatch(/may open \d+ connections to the database, which allows 20: /);
});

it("a port that another program listens on, even one that would share it, is refused", async ({ start }) => {
  const other = createServer().listen({
    host: "127.0.0.1",
    port: 0,
    reusePort: process.platform === "linux",
  });
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const program = start({ PORT: String(port) });
  expect(await program.ended).toEqual({ code: 1, signal: null });
  expect(program.output()).toContain(`127.0.0.1:${port} is in use by another program`);
});
