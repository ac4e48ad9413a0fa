import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createEmptyTestDatabase } from "./support/database.ts";
import { installPackage } from "./support/installPackage.ts";
import { startService } from "./support/serviceProcess.ts";

/** A version that knows nothing of cells, as it was packed. */
const versionBefore = join(import.meta.dirname, "fixtures/version-before.tgz");

it("a version from before cells does not start on a database that is divided", async ({ onTestFinished }) => {
  const tree = await mkdtemp(join(tmpdir(), "postrider-before-"));
  onTestFinished(() => rm(tree, { recursive: true, force: true }));
  const command = await installPackage(versionBefore, tree);
  const database = await createEmptyTestDatabase();
  onTestFinished(() => database.drop());
  const storage = { databaseUrl: database.url };
  const service = await startService({ storage, env: { POSTRIDER_CELLS: "2" } });
  expect(await service.stop()).toBe(0);
  await expect(startService({ storage, command })).rejects.toThrow(
    "the database has migration 0043_cells_of_the_data_plane.sql, which this version of Postrider does not know: start the newer version",
  );
});
