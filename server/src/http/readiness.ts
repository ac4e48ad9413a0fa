import type pg from "pg";
import { singleFlight, within } from "../runtime/within.ts";
import { awayReason, awayText } from "../postgres/awayReason.ts";
import type { ClockCheck } from "../postgres/clock.ts";
import { fsyncOffText } from "../postgres/serverPromises.ts";
import { makePartitionsNow } from "../postgres/partitions.ts";

/** A cell on its own server. */
export interface Apart {
  /** The cell's number and server, for warnings. */
  name: string;
  pool: pg.Pool;
  intake: IntakeState;
}

interface IntakeState {
  /** The error of the last batch, if the batch was not committed. */
  trouble(): { error: unknown; atMs: number } | undefined;
  forgetTrouble(): void;
}

/** Whether this process accepts items. */
export interface Readiness {
  /** Why no item is accepted; undefined when some are. */
  refusal: string | undefined;
  /** Problems that do not stop intake, one sentence each. */
  warnings: string[];
}

export interface ReadinessDeps {
  pool: pg.Pool;
  clock: ClockCheck;
  /** Why this process cannot work with its database any more; rejects when the database does not answer. */
  whyOvertaken: () => Promise<string | undefined>;
  intake: IntakeState;
  /** The cells that are now on their own servers; by default none. */
  apart?: () => readonly Apart[];
}

/** Load balancers often wait 3 s for a health check. */
const answerWithinMs = 2_000;
/** An older error of intake is ignored, unless a full disk caused it. */
const troubleMs = 5_000;

/** How long one of several servers may take, so that a server that hangs does not hide the others. */
const serverWithinMs = 1_500;

/**
 * Returns a function that checks whether an item would be accepted now. The check commits a transaction, asks whether this
 * process can still work with its database, compares the clocks, creates today's partitions if they are missing, and reads the
 * result of the last items. It answers within 2 s, and concurrent callers share one check.
 *
 * If cells are on their own servers, an unreachable server affects only its own items, and an unreachable coordinator only other
 * requests: both are warnings as long as any cell accepts items. The check then leaves missing partitions to the first item that
 * needs them, because the connections that could create them may all wait for an unreachable server.
 */
export function createReadiness(deps: ReadinessDeps): () => Promise<Readiness> {
  const looking = singleFlight(async () => {
    const apart = deps.apart?.() ?? [];
    return apart.length === 0 ? look(deps) : lookApart(deps, apart);
  });
  return () => within(answerWithinMs, looking(), { refusal: awayText.slow, warnings: [] });
}

async function look(deps: ReadinessDeps): Promise<Readiness> {
  try {
    const { is_written, has_fsync } = await commitOnce(deps.pool);
    const refusal = is_written ? await whyNotNow(deps) : awayText["read-only"];
    return { refusal, warnings: has_fsync ? [] : [fsyncOffText] };
  } catch (error) {
    return { refusal: refusalBy(error), warnings: [] };
  }
}

async function whyNotNow(deps: ReadinessDeps): Promise<string | undefined> {
  const refusal = await whyNoneAccepted(deps);
  if (refusal !== undefined) return refusal;
  // The machine may have been suspended for longer than partitions are created ahead.
  await makePartitionsNow(deps.pool);
  return troubleOf(deps);
}

async function lookApart(deps: ReadinessDeps, apart: readonly Apart[]): Promise<Readiness> {
  const control = whyNoneAccepted(deps).then(
    (refusal) => ({ refusal, warning: undefined }),
    (error: unknown) => ({ refusal: undefined, warning: refusalBy(error) }),
  );
  const [{ refusal, warning }, ...looks] = await Promise.all([
    within(serverWithinMs, control, { refusal: undefined, warning: awayText.slow }),
    ...apart.map((cell) =>
      within(serverWithinMs, lookAtCell(cell), { refusal: awayText.slow, warnings: [] }),
    ),
  ]);
  const away = looks.flatMap((look, index) =>
    look.refusal === undefined ? [] : [`${apart[index]!.name} accepts nothing: ${look.refusal}`],
  );
  if (refusal !== undefined || away.length === apart.length)
    return { refusal: refusal ?? away[0], warnings: [] };
  const warnings = [...away, ...looks.flatMap((look) => look.warnings)];
  if (warning !== undefined)
    warnings.unshift(
      `the coordinator is not available, so that only items and consumers are served: ${warning}`,
    );
  return { refusal: undefined, warnings };
}

async function lookAtCell(cell: Apart): Promise<Readiness> {
  try {
    const { is_written, has_fsync } = await commitOnce(cell.pool);
    if (!is_written) return { refusal: awayText["read-only"], warnings: [] };
    // The pool may lead to the coordinator, which executes the first statement itself and sends this one to the cell's server.
    await cell.pool.query("select bucket from deliveries where bucket = -1");
    const warnings = has_fsync ? [] : [`${cell.name}: ${fsyncOffText}`];
    return { refusal: await troubleOf(cell), warnings };
  } catch (error) {
    return { refusal: awayText[awayReason(error) ?? "away"], warnings: [] };
  }
}

/**
 * The refusal for an error of the database. If the tables are missing, the database is reachable, so the text does not call it
 * unreachable. The process does not end, because its next start would create new tables in a database that may be the wrong one.
 */
function refusalBy(error: unknown): string {
  if ((error as { code?: string }).code === "42P01")
    return "the database has no Postrider tables: it was emptied, or is the wrong one";
  return awayText[awayReason(error) ?? "away"];
}

interface Committed {
  is_written: boolean;
  has_fsync: boolean;
}

async function commitOnce(pool: pg.Pool): Promise<Committed> {
  const { rows } = await pool.query<Committed>(commitSomething);
  return rows[0]!;
}

/** @throws the driver's error when the database with the control plane is unreachable. */
async function whyNoneAccepted({ clock, whyOvertaken }: ReadinessDeps): Promise<string | undefined> {
  const overtaken = await whyOvertaken();
  if (overtaken !== undefined) return overtaken;
  await clock.look();
  return clock.mayMakeItems() ? undefined : clock.warning();
}

async function troubleOf({ pool, intake }: Pick<Apart, "pool" | "intake">): Promise<string | undefined> {
  const trouble = intake.trouble();
  if (trouble === undefined) return undefined;
  const reason = awayReason(trouble.error) ?? "away";
  if (reason === "disk full") {
    await pool.query(takeRoom);
    intake.forgetTrouble();
    return undefined;
  }
  return performance.now() - trouble.atMs < troubleMs ? awayText[reason] : undefined;
}

/**
 * Commits a WAL record that nobody reads. Like an item, it is committed on disk, and on a synchronous standby if there is one.
 */
const commitSomething = `select case
    when pg_is_in_recovery() or current_setting('transaction_read_only')::boolean then false
    else pg_logical_emit_message(true, 'postrider', 'ready') is not null
  end as is_written,
  current_setting('fsync')::boolean as has_fsync`;

/** Allocates new pages on the database's disk and frees them. */
const takeRoom = `create temporary table postrider_room on commit drop as
  select repeat('x', 1000) as filler
  from generate_series(1, 100)`;
