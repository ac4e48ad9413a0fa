import type { OwnTable } from "./ownTables.ts";

/** The tables of one cell of the data plane. */
export interface OwnCell {
  schema: string;
  tables: readonly OwnTable[];
}

/** The manifest of a backup, before its rows. */
export interface Manifest {
  /** The format of the file: 2 for a database with cells. */
  format: 1 | 2;
  /** Unix seconds: the moment that the rows are of. */
  created_at: number;
  /** Postrider's version, not the package's. */
  version: string;
  /** The first 16 hex digits of the SHA-256 of the key that secrets in the rows are sealed with. */
  key_fingerprint: string;
  migrations: readonly { version: number; name: string; checksum: string }[];
  tables: readonly OwnTable[];
  /** In the order of their buckets; absent where the data plane is not divided. */
  cells?: readonly OwnCell[];
}

/**
 * The rows of one table or partition, in PostgreSQL's binary copy format, piece by piece. The schema is that of a cell, and
 * absent for the other tables.
 */
export type Part =
  | { kind: "begin"; table: string; source: string; schema?: string | undefined }
  | { kind: "bytes"; bytes: Buffer }
  | { kind: "end"; rows: number };

/** A sequence's last number; null when it has given none. */
export interface Sequence {
  name: string;
  last: string | null;
}

/** A whole: its description, its rows, and what is known after them. */
export interface Contents {
  manifest: Manifest;
  /** To be read once, to its end, before `sequences`. */
  parts: AsyncIterable<Part>;
  sequences: () => Promise<readonly Sequence[]>;
}
