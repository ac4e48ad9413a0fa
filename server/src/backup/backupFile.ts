import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip } from "node:zlib";
import { Check } from "typebox/value";
import { beforeInterrupt } from "../runtime/beforeInterrupt.ts";
import { syncDirectory } from "../runtime/syncDirectory.ts";
import { createFrameReader } from "./frames.ts";
import { type Contents, Manifest, type Part, type Sequence, Sequences } from "./parts.ts";

/*
 * Format of a backup: gzip over lines of JSON, some of which are followed by a run of bytes. First the manifest. Then for
 * each table: {"table", "source"}, for a table of a cell also "schema"; any number of {"bytes"}, each followed by that number
 * of bytes of rows in PostgreSQL's binary COPY format; {"rows"}. At the end {"sequences", "sha256"}, with the hash of
 * everything before this line.
 */

/** Totals of a backup. */
export interface Written {
  bytes: number;
  rows: number;
}

/** Minimum size of a frame of rows, except a table's last. */
const frameBytes = 256 * 1024;

/**
 * Writes a backup into a new file that only its owner can read. The file gets its name only when it is completely on
 * disk.
 */
export async function writeBackup(path: string, contents: Contents): Promise<Written> {
  // A draft of its own, because another backup into the same file may be in progress, such as yesterday's.
  const draft = `${path}.${randomBytes(4).toString("hex")}.partial`;
  let rows = 0;
  const counted = (more: number): void => void (rows += more);
  const takeBack = beforeInterrupt(() => rmSync(draft, { force: true }));
  try {
    await pipeline(
      Readable.from(encode(contents, counted), { objectMode: false }),
      createGzip({ level: constants.Z_BEST_SPEED }),
      createWriteStream(draft, { mode: 0o600, flags: "wx", flush: true }),
    );
    const { size } = await stat(draft);
    await rename(draft, path);
    syncDirectory(dirname(path));
    return { bytes: size, rows };
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    takeBack();
  }
}

async function* encode(contents: Contents, counted: (rows: number) => void): AsyncGenerator<Buffer, void> {
  const hash = createHash("sha256");
  const hashed = (bytes: Buffer): Buffer => {
    hash.update(bytes);
    return bytes;
  };
  yield hashed(line(contents.manifest));
  let gathered: Buffer[] = [];
  let gatheredBytes = 0;
  const flush = (): Buffer => {
    const bytes = Buffer.concat(gathered);
    gathered = [];
    gatheredBytes = 0;
    return Buffer.concat([line({ bytes: bytes.length }), bytes]);
  };
  for await (const part of contents.parts) {
    switch (part.kind) {
      case "begin":
        yield hashed(line({ table: part.table, source: part.source, schema: part.schema }));
        break;
      case "bytes":
        gathered.push(part.bytes);
        gatheredBytes += part.bytes.length;
        if (gatheredBytes >= frameBytes) yield hashed(flush());
        break;
      case "end":
        if (gatheredBytes > 0) yield hashed(flush());
        counted(part.rows);
        yield hashed(line({ rows: part.rows }));
        break;
    }
  }
  const sequences = await contents.sequences();
  yield line({ sequences, sha256: hash.digest("hex") });
}

function line(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** Reads a backup's manifest, after its checksum was verified. @throws {Error} if the file is no backup, or is damaged. */
export async function verifyBackup(path: string): Promise<Manifest> {
  const contents = await readBackup(path);
  let tables = 0;
  for await (const part of contents.parts) if (part.kind === "end") tables++;
  await contents.sequences();
  if (tables === 0) throw new Error(`${path} has no tables`);
  return contents.manifest;
}

/** Opens a backup. Its checksum and end are checked after its parts have been read. @throws {Error} */
export async function readBackup(path: string): Promise<Contents> {
  const unpacked = createGunzip();
  // An error of either stream ends reading from `unpacked`.
  void pipeline(createReadStream(path), unpacked).catch(() => undefined);
  const reader = createFrameReader(unpacked, (what, cause) => new Error(`${path} ${what}`, { cause }));
  // Anybody may have written the file.
  const manifest: unknown = await reader.line();
  if (!Check(Manifest, manifest)) throw new Error(`${path} is no backup that this version can read`);
  let sequences: readonly Sequence[] | undefined;
  async function* parts(): AsyncGenerator<Part, void> {
    // Whether a table has begun and not ended.
    let isInTable = false;
    for (;;) {
      const sha256 = reader.sha256();
      const next = await reader.line();
      if (typeof next["bytes"] === "number" && isInTable)
        yield { kind: "bytes", bytes: await reader.bytes(next["bytes"]) };
      else if (typeof next["rows"] === "number" && isInTable) {
        isInTable = false;
        yield { kind: "end", rows: next["rows"] };
      } else if (typeof next["table"] === "string" && !isInTable) {
        isInTable = true;
        const schema = typeof next["schema"] === "string" ? next["schema"] : undefined;
        yield { kind: "begin", table: next["table"], source: String(next["source"]), schema };
      } else {
        if (next["sha256"] !== sha256) throw new Error(`${path} is damaged: its checksum differs`);
        await reader.end();
        const last = next["sequences"];
        if (!Check(Sequences, last) || isInTable)
          throw new Error(`${path} is damaged: its end is not that of a backup`);
        sequences = last;
        return;
      }
    }
  }
  return {
    manifest,
    parts: parts(),
    sequences: () =>
      sequences === undefined
        ? Promise.reject(new Error("unreachable: the parts are read first"))
        : Promise.resolve(sequences),
  };
}
