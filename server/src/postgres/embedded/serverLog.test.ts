import { expect, it } from "vitest";
import { explainFailure } from "./cluster.ts";
import { followServerLog, judgeLine } from "./serverLog.ts";

it("forwards warnings and errors of PostgreSQL's log, but not routine lines", () => {
  expect(judgeLine("LOG:  listening on Unix socket")).toBe("quiet");
  expect(judgeLine("LOG:  database system was not properly shut down; automatic recovery in progress")).toBe(
    "info",
  );
  expect(judgeLine("LOG:  server process (PID 7) was terminated by signal 9: Killed")).toBe("warn");
  expect(judgeLine("ERROR:  could not extend file")).toBe("warn");
  expect(judgeLine("PANIC:  could not write")).toBe("error");
  expect(judgeLine("DETAIL:  Key (email)=(someone) already exists.")).toBe("quiet");
  expect(judgeLine("postgres: error while loading shared libraries")).toBe("warn");
});

it("does not report clients that connect before PostgreSQL is ready, or that disconnect early", () => {
  const told: string[] = [];
  const log = followServerLog((level, message) => told.push(`${level} ${message}`));
  log.onLine("FATAL:  the database system is starting up");
  log.onLine('FATAL:  database "postrider" does not exist');
  log.onLine("LOG:  could not send data to client: Broken pipe");
  log.onLine("FATAL:  connection to client lost");
  log.onLine("FATAL:  could not write lock file");
  expect(told).toEqual(["error postgresql: FATAL:  could not write lock file"]);
  expect(explainFailure(log.lastLines)).toBe("FATAL:  could not write lock file");
});

it("says how to raise the limit of file descriptors that PostgreSQL does not start with", () => {
  const lines = [
    "FATAL:  insufficient file descriptors available to start server process",
    "DETAIL:  System allows 33, server needs at least 58, 7 files are already open.",
  ];
  expect(explainFailure(lines)).toMatch(/already open\. Raise the limit of open files \(ulimit -n\)\.$/);
});

it("keeps only the last lines", () => {
  const log = followServerLog(() => undefined);
  for (let line = 0; line < 1_000; line++) log.onLine(`LOG:  ${line}`);
  expect(log.lastLines.length).toBeLessThan(20);
  expect(log.lastLines.at(-1)).toBe("LOG:  999");
});
