import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifyBackup, writeBackup } from "./backupFile.ts";
import type { Contents, Part } from "./parts.ts";

const it = test.extend("directory", async ({}, { onCleanup }) => {
  const directory = await mkdtemp(join(tmpdir(), "backup-file-"));
  onCleanup(() => rm(directory, { recursive: true }));
  return directory;
});

/** A backup of one table, whose rows are there when `rows` resolves. */
function contentsOf(created_at: number, rows: Promise<Buffer>): Contents {
  async function* parts(): AsyncGenerator<Part, void> {
    yield { kind: "begin", table: "organizations", source: "organizations", schema: undefined };
    yield { kind: "bytes", bytes: await rows };
    yield { kind: "end", rows: 1 };
  }
  const manifest = {
    format: 1 as const,
    created_at,
    version: "1.0.0",
    key_fingerprint: "0".repeat(16),
    migrations: [],
    tables: [],
  };
  return { manifest, parts: parts(), sequences: () => Promise.resolve([]) };
}

it("is whole although another backup into the same file began and ended meanwhile", async ({ directory }) => {
  const path = join(directory, "postrider.backup");
  // More than a frame, so that the slow one has bytes in its file while the other one writes.
  const many = Buffer.alloc(1024 * 1024, "first");
  const slow = Promise.withResolvers<Buffer>();
  const first = writeBackup(path, contentsOf(1, slow.promise));
  await expect.poll(() => readdir(directory)).toHaveLength(1);
  await writeBackup(path, contentsOf(2, Promise.resolve(Buffer.from("second"))));
  expect(await verifyBackup(path)).toMatchObject({ created_at: 2 });
  slow.resolve(many);
  await first;
  expect(await verifyBackup(path)).toMatchObject({ created_at: 1 });
  expect(await readdir(directory)).toEqual(["postrider.backup"]);
});
