import { statfs } from "node:fs/promises";
import type pg from "pg";

/** WAL segments that a busy service writes in a quarter of a minute. */
const wantedSegments = 512;
/** As `initdb` is told. */
const segmentBytes = 2 ** 20;
/** A small disk has better uses: PostgreSQL stops when its log finds no room. */
const partOfFreeDisk = 1 / 16;
const perStatement = 16;

/** How many segments are worth making in a directory, for the room that its disk has. */
export async function segmentsThatFit(directory: string): Promise<number> {
  const disk = await statfs(directory);
  const room = disk.bavail * disk.bsize * partOfFreeDisk;
  return Math.min(wantedSegments, Math.floor(room / segmentBytes));
}

/**
 * Makes WAL segments ahead of their use, once in a cluster's life: a new cluster has none, and a commit that must
 * first make its own waits for tens of milliseconds. From here on checkpoints recycle what is used up, as
 * `min_wal_size` says. Takes about two seconds of a disk; does nothing on a cluster that has enough.
 * @param signal Ends the work early; it can be done again at any time.
 * @param wanted How many there shall be, as {@link segmentsThatFit} says.
 * @returns how many segments were made.
 */
export async function makeWalAhead(pool: pg.Pool, signal: AbortSignal, wanted: number): Promise<number> {
  const { rows } = await pool.query<{ found: number }>(
    "select count(*)::integer as found from pg_ls_waldir()",
  );
  const first = rows[0]!.found;
  let segments = first;
  while (segments < wanted && !signal.aborted) {
    // A switch does nothing in a segment that is empty, so each is given a record that nobody reads.
    await pool.query(
      `select pg_logical_emit_message(false, 'postrider', ''), pg_switch_wal() from generate_series(1, ${perStatement})`,
    );
    segments += perStatement;
  }
  // The segments left behind become the ones ahead; a server that stops does this by itself.
  if (segments > first && !signal.aborted) await pool.query("checkpoint");
  return segments - first;
}
