/**
 * Packs this version as the fixture "version before", from which the next version's test of rolling upgrades starts. Part of a
 * release.
 * Usage: node server/scripts/releaseFixture.ts
 */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const fixture = join(import.meta.dirname, "../test/fixtures/version-before.tgz");

const folder = await mkdtemp(join(tmpdir(), "postrider-release-"));
const { stdout } = await run(process.execPath, [join(import.meta.dirname, "pack.ts"), folder, "service"]);
await copyFile(stdout.trim(), fixture);
await rm(folder, { recursive: true });
console.log(fixture);
