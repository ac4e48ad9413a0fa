import { statfs } from "node:fs/promises";
import type pg from "pg";

/** Number of WAL segments that a busy service writes in 15 seconds. */
const wantedSegments = 512;
/** The segment size that `initdb` is given. */
const segmentBytes = 2 ** 20;
/** Maximum part of the free disk space that the segments may take: PostgreSQL stops when its WAL has no space. */
const partOfFreeDisk = 1 / 16;
const perStatement = 16;

/** Returns how many segments to create in a directory, given the free space of its disk. */
export async function segmentsThatFit(directory: string): Promise<number> {
  const disk = await statfs(directory);
  const room = disk.bavail * disk.bsize * partOfFreeDisk;
  return Math.min(wantedSegments, Math.floor(room / segmentBytes));
}

/**
 * Creates WAL segments in advance, once in a cluster's life: a new cluster has none, and a commit that must first create one
 * waits for tens of milliseconds. Afterwards checkpoints recycle used segments, as `min_wal_size` says. Keeps the disk busy
 * for about two seconds; does nothing on a cluster that has enough segments.
 * @param signal ends the work early; it can be continued at any time.
 * @param wanted the total number of segments, from {@link segmentsThatFit}.
 * @returns the number of created segments.
 */
export async function makeWalAhead(pool: pg.Pool, signal: AbortSignal, wanted: number): Promise<number> {
  const { rows } = await pool.query<{ found: number }>(
    "select count(*)::integer as found from pg_ls_waldir()",
  );
  const first = rows[0]!.found;
  let segments = first;
  while (segments < wanted && !signal.aborted) {
    // Switching does nothing in an empty segment, so a small record is written to each one first.
    await pool.query(
      `select pg_logical_emit_message(false, 'postrider', ''), pg_switch_wal() from generate_series(1, ${perStatement})`,
    );
    segments += perStatement;
  }
  // The checkpoint recycles the segments that were left behind; a server that stops does this by itself.
  if (segments > first && !signal.aborted) await pool.query("checkpoint");
  return segments - first;
}
