import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { clusterFolder } from "./support/clusterFolder.ts";
import { serviceFile, startProgram } from "./support/program.ts";
import { startReceiver } from "./support/receiver.ts";
import { startService } from "./support/serviceProcess.ts";
import { takesAndGives } from "./support/takesAndGives.ts";

/** Variables for psql and similar programs, as in the profile of a user who works with another server. */
const variables = {
  PGHOST: "192.0.2.1",
  PGPORT: "1",
  PGUSER: "ada",
  PGPASSWORD: "analytical",
  PGDATABASE: "engine",
  PGSSLMODE: "verify-full",
  PGSSLNEGOTIATION: "direct",
  PGOPTIONS: "-c statement_timeout=1",
};

it("serves and is backed up whatever PGSSLMODE, PGOPTIONS and similar variables say", async () => {
  const place = mkdtempSync(join(clusterFolder(), "postrider-variables-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  const receiver = await startReceiver();
  onTestFinished(() => receiver.stop());
  const dataDir = join(place, "data");
  const service = await startService({ storage: { dataDir }, env: variables });
  onTestFinished(() => service.kill("SIGKILL"));
  await takesAndGives(service, receiver);
  const backup = startProgram({
    command: [process.execPath, serviceFile, "backup", join(place, "file"), "--json"],
    env: { POSTRIDER_DATA_DIR: dataDir, ...variables },
  });
  expect(await backup.ended, backup.output()).toEqual({ code: 0, signal: null });
  expect(await service.stop(), service.output()).toBe(0);
  expect(service.output()).not.toMatch(/statement timeout/);
});
