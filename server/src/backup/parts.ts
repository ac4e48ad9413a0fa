import type { OwnTable } from "./ownTables.ts";

/** What a backup is, before its rows. */
export interface Manifest {
  /** Of this description and what follows it. */
  format: 1;
  /** Unix seconds: the moment that the rows are of. */
  created_at: number;
  /** Of Postrider. */
  version: string;
  /** The first 16 hex digits of the SHA-256 of the key that secrets in the rows are sealed with. */
  key_fingerprint: string;
  migrations: readonly { version: number; name: string; checksum: string }[];
  tables: readonly OwnTable[];
}

/** The rows of one table or partition, in PostgreSQL's binary copy format, piece by piece. */
export type Part =
  | { kind: "begin"; table: string; source: string }
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
