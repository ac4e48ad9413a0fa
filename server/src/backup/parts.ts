import { type Static, Type } from "typebox";
import { Check } from "typebox/value";

const Texts = Type.Array(Type.String());

const Partition = Type.Object({
  name: Type.String(),
  /** As PostgreSQL writes them: `FOR VALUES FROM (…) TO (…)`. */
  bounds: Type.String(),
  /** Storage parameters, such as `autovacuum_analyze_scale_factor=1`. */
  settings: Texts,
  /** Columns of which no statistics are gathered. */
  unmeasured: Texts,
});
export type Partition = Static<typeof Partition>;

/** A table with data of its own, as a backup describes it; for a partitioned one, with its partitions. */
const OwnTable = Type.Object({ name: Type.String(), columns: Texts, partitions: Type.Array(Partition) });
export type OwnTable = Static<typeof OwnTable>;

/** The tables of one cell of the data plane. */
const OwnCell = Type.Object({ schema: Type.String(), tables: Type.Array(OwnTable) });
export type OwnCell = Static<typeof OwnCell>;

/** The manifest of a backup, before its rows. */
const Manifest = Type.Object({
  /** The format of the file: 2 for a database with cells. */
  format: Type.Union([Type.Literal(1), Type.Literal(2)]),
  /** Unix seconds: the moment that the rows are of. It is shown as a date. */
  created_at: Type.Number(),
  /** Postrider's version, not the package's. */
  version: Type.String(),
  /** The first 16 hex digits of the SHA-256 of the key that secrets in the rows are sealed with. */
  key_fingerprint: Type.String(),
  migrations: Type.Array(
    Type.Object({ version: Type.Number(), name: Type.String(), checksum: Type.String() }),
  ),
  tables: Type.Array(OwnTable),
  /** In the order of their buckets; absent where the data plane is not divided. */
  cells: Type.Optional(Type.Array(OwnCell)),
});
export type Manifest = Static<typeof Manifest>;

/** A sequence's last number; null when it has given none. */
const Sequence = Type.Object({
  name: Type.String(),
  last: Type.Union([Type.String({ pattern: "^[0-9]+$" }), Type.Null()]),
});
export type Sequence = Static<typeof Sequence>;

/** The first line of a backup: text of a file, which anybody may have written. Undefined where it describes no backup. */
export function readManifest(line: unknown): Manifest | undefined {
  return Check(Manifest, line) ? line : undefined;
}

/** The sequences in the last line. Undefined where they are none. */
export function readSequences(value: unknown): Sequence[] | undefined {
  return Check(Type.Array(Sequence), value) ? value : undefined;
}

/**
 * The rows of one table or partition, in PostgreSQL's binary copy format, piece by piece. The schema is that of a cell, and
 * absent for the other tables.
 */
export type Part =
  | { kind: "begin"; table: string; source: string; schema?: string | undefined }
  | { kind: "bytes"; bytes: Buffer }
  | { kind: "end"; rows: number };

/** A whole: its description, its rows, and what is known after them. */
export interface Contents {
  manifest: Manifest;
  /** To be read once, to its end, before `sequences`. */
  parts: AsyncIterable<Part>;
  sequences: () => Promise<readonly Sequence[]>;
}
