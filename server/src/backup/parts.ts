import { type Static, Type } from "typebox";

const Texts = Type.Array(Type.String());

const Partition = Type.Object({
  name: Type.String(),
  /** The bounds as PostgreSQL writes them: `FOR VALUES FROM (…) TO (…)`. */
  bounds: Type.String(),
  /** Storage parameters, such as `autovacuum_analyze_scale_factor=1`. */
  settings: Texts,
  /** Columns without statistics (statistics target 0). */
  unmeasured: Texts,
});
export type Partition = Static<typeof Partition>;

/** A table in a backup's manifest; for a partitioned table with its partitions. */
const OwnTable = Type.Object({ name: Type.String(), columns: Texts, partitions: Type.Array(Partition) });
export type OwnTable = Static<typeof OwnTable>;

/** The tables of one cell of the data plane. */
const OwnCell = Type.Object({ schema: Type.String(), tables: Type.Array(OwnTable) });
export type OwnCell = Static<typeof OwnCell>;

/** The manifest of a backup, which precedes its rows. */
export const Manifest = Type.Object({
  /** The format of the file: 2 for a database with cells. */
  format: Type.Union([Type.Literal(1), Type.Literal(2)]),
  /** Unix seconds: the time of the snapshot. Shown as a date. */
  created_at: Type.Number(),
  /** Postrider's version, not the package's. */
  version: Type.String(),
  /** The first 16 hex digits of the SHA-256 of the key with which secrets in the rows are encrypted. */
  key_fingerprint: Type.String(),
  migrations: Type.Array(
    Type.Object({ version: Type.Number(), name: Type.String(), checksum: Type.String() }),
  ),
  tables: Type.Array(OwnTable),
  /** In the order of their buckets; absent when the data plane is not divided. */
  cells: Type.Optional(Type.Array(OwnCell)),
});
export type Manifest = Static<typeof Manifest>;

/** The sequences, each with its last value; null if it was never used. */
export const Sequences = Type.Array(
  Type.Object({
    name: Type.String(),
    last: Type.Union([Type.String({ pattern: "^[0-9]+$" }), Type.Null()]),
  }),
);
export type Sequence = Static<typeof Sequences>[number];

/**
 * A piece of the rows of one table or partition, in PostgreSQL's binary COPY format. `schema` is a cell's schema, and
 * absent for other tables.
 */
export type Part =
  | { kind: "begin"; table: string; source: string; schema?: string | undefined }
  | { kind: "bytes"; bytes: Buffer }
  | { kind: "end"; rows: number };

/** The contents of a backup: its manifest, its rows, and the sequences, which are read last. */
export interface Contents {
  manifest: Manifest;
  /** Must be read once, to its end, before `sequences`. */
  parts: AsyncGenerator<Part, void>;
  sequences: () => Promise<readonly Sequence[]>;
}
