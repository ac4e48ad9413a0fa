import type pg from "pg";

/** The locks for which a session waited at the last look. */
export interface LocksInTheWay {
  /** The table or index, as SQL names it. */
  table: string;
  /** The transactions that hold the locks, as `pg_locks` names them. */
  transactions: string[];
  /** Whether all of the locks belong to VACUUM, ANALYZE or index builds, which conflict with no reader and no writer. */
  areMaintenance: boolean;
  /** The holder whose transaction is the oldest, in words. */
  holder: string;
}

interface Held {
  table: string;
  is_table: boolean;
  pid: number;
  transaction: string;
  mode: string;
  application: string | null;
  seconds: number | null;
}

const lookEveryMs = 75;

/**
 * Queries every 75 ms, on another connection, for which locks the session waits, until `end` is called, which returns the
 * last result. Without a free connection there is no result.
 */
export function watchForLocks(pool: pg.Pool, pid: number): { end(): LocksInTheWay | undefined } {
  let seen: LocksInTheWay | undefined;
  let hasEnded = false;
  let timer = setTimeout(look, lookEveryMs);

  function look(): void {
    void findLocks(pool, pid)
      .then((found) => {
        if (!hasEnded && found !== undefined) seen = found;
        return undefined;
      })
      // When the database is down, the waiting statement fails in the same way, and its error is handled there.
      .catch(() => undefined)
      .finally(() => {
        if (!hasEnded) timer = setTimeout(look, lookEveryMs);
      });
  }

  return {
    end() {
      hasEnded = true;
      clearTimeout(timer);
      return seen;
    },
  };
}

async function findLocks(pool: pg.Pool, pid: number): Promise<LocksInTheWay | undefined> {
  const { rows } = await pool.query<Held>(
    `select
       w.relation::regclass::text as table,
       c.relkind in ('r', 'p') as is_table,
       h.pid,
       h.virtualtransaction as transaction,
       h.mode,
       a.application_name as application,
       extract(epoch from statement_timestamp() - a.xact_start)::integer as seconds
     from pg_locks w
     join pg_class c on c.oid = w.relation
     join pg_locks h on h.locktype = 'relation' and h.database = w.database and h.relation = w.relation
     left join pg_stat_activity a on a.pid = h.pid
     where w.pid = $1
       and w.locktype = 'relation'
       and not w.granted
       and h.granted
       and h.pid = any (pg_blocking_pids(w.pid))
     order by a.xact_start`,
    [pid],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  return {
    table: first.table,
    transactions: rows.map(({ transaction }) => transaction),
    areMaintenance: first.is_table && rows.every(({ mode }) => mode === "ShareUpdateExclusiveLock"),
    holder: describe(first),
  };
}

function describe({ pid, application, seconds }: Held): string {
  const details = [application, seconds === null ? "" : `for ${seconds} s`].filter(Boolean).join(", ");
  return details === "" ? `process ${pid}` : `process ${pid} (${details})`;
}

/** A text, to follow "still", that says for which lock a session waits. */
export function wordsFor(locks: LocksInTheWay | undefined): string {
  if (locks === undefined) return "waiting for a lock";
  const { table, holder } = locks;
  return `waiting for a lock on ${table}, which a transaction of PostgreSQL's ${holder} holds`;
}

export async function areStillHeld(pool: pg.Pool, { table, transactions }: LocksInTheWay): Promise<boolean> {
  const { rows } = await pool.query<{ exists: boolean }>(
    `select exists (
       select
       from pg_locks
       where granted
         and relation = to_regclass($1)
         and virtualtransaction = any ($2)
     ) as exists`,
    [table, transactions],
  );
  return rows[0]!.exists;
}
