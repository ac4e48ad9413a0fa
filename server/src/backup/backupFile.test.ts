import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { verifyBackup, writeBackup } from "./backupFile.ts";
import type { Contents, Part } from "./parts.ts";

const it = test.extend("directory", async ({}, { onCleanup }) => {
  const directory = await mkdtemp(join(tmpdir(), "backup-file-"));
  onCleanup(() => rm(directory, { recursive: true }));
  return directory;
});

/** A backup of one table, whose rows follow when `rows` resolves. */
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

it("a backup is complete although another one into the same file began and ended before it", async ({
  directory,
}) => {
  const path = join(directory, "postrider.backup");
  // More than one frame.
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

it("a backup of many days in many cells can be read again", async ({ directory }) => {
  const path = join(directory, "postrider.backup");
  const contents = contentsOf(1, Promise.resolve(Buffer.from("rows")));
  // As long as that of 500 days in 16 cells.
  const name = "idempotency_keys_20261121".padEnd(250, "x");
  const partition = { name, bounds: "FOR VALUES FROM (1) TO (2)", settings: [], unmeasured: [] };
  const partitions = Array.from({ length: 55_000 }, () => partition);
  contents.manifest.tables = [{ name: "idempotency_keys", columns: ["key"], partitions }];
  await writeBackup(path, contents);
  const [{ partitions: read } = { partitions: [] }] = (await verifyBackup(path)).tables;
  expect(read).toHaveLength(partitions.length);
});

const manifest = {
  format: 1,
  created_at: 1,
  version: "1.0.0",
  key_fingerprint: "0".repeat(16),
  migrations: [{ version: 100, name: "0100_baseline.sql", checksum: "" }],
  tables: [{ name: "organizations", columns: ["id"], partitions: [] }],
};
const table = [{ table: "organizations", source: "organizations" }, { rows: 0 }];

/** Writes a file with these lines of JSON, the right checksum, and these sequences. */
async function forge(directory: string, lines: readonly object[], sequences: unknown = []): Promise<string> {
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const sha256 = createHash("sha256").update(text).digest("hex");
  const path = join(directory, "forged.backup");
  await writeFile(path, gzipSync(`${text}${JSON.stringify({ sequences, sha256 })}\n`));
  return path;
}

it("a file is refused when its manifest is not that of a backup, even if its checksum is right", async ({
  directory,
}) => {
  expect(await verifyBackup(await forge(directory, [manifest, ...table]))).toEqual(manifest);
  for (const forged of [
    { format: 1 },
    { ...manifest, format: 3 },
    { ...manifest, created_at: "yesterday" },
    { ...manifest, migrations: {} },
    { ...manifest, migrations: [null] },
    { ...manifest, tables: "organizations" },
    { ...manifest, tables: [{ name: "organizations", columns: [1], partitions: [] }] },
    { ...manifest, tables: [{ ...manifest.tables[0], partitions: [{ name: "p", settings: [] }] }] },
    { ...manifest, cells: [{ schema: 1, tables: [] }] },
  ]) {
    await expect(verifyBackup(await forge(directory, [forged, ...table]))).rejects.toThrow(
      "is no backup that this version can read",
    );
  }
});

it("a backup is refused with rows outside of a table, and with invalid sequences", async ({ directory }) => {
  for (const lines of [
    [table[1]!, ...table],
    [...table, table[0]!],
    [table[0]!, ...table],
  ])
    await expect(verifyBackup(await forge(directory, [manifest, ...lines]))).rejects.toThrow(
      "is damaged: its",
    );
  for (const sequences of [null, [{ name: 1 }], [{ name: "message_positions", last: "many" }]]) {
    await expect(verifyBackup(await forge(directory, [manifest, ...table], sequences))).rejects.toThrow(
      "is damaged: its end is not that of a backup",
    );
  }
});
