import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { isLockTableFull } from "./awayReason.ts";
import { isDatabaseAway } from "./pool.ts";

export interface Wait {
  /** The address of the database, without credentials. */
  where: string;
  /** Called with the reason of the wait, first and whenever the reason changes. */
  onWait: (why: string) => void;
  /** Ends the wait with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** How long the database may be unavailable at the start, for example when both are started together. */
const limitMs = 60_000;
const pauseMs = 1_000;

/**
 * Runs `work` on a configured database, and repeats it while the database cannot be reached, is read-only or full, for at
 * most a minute.
 * @throws {Error} with a sentence for the operator.
 */
export async function untilServes<T>(work: () => Promise<T>, wait: Wait): Promise<T> {
  const deadlineMs = performance.now() + limitMs;
  let told: string | undefined;
  for (;;) {
    wait.signal?.throwIfAborted();
    try {
      return await work();
    } catch (cause) {
      const why = whyNot(cause);
      if (!isDatabaseAway(cause) || isFileError(cause)) throw new Error(why, { cause });
      if (performance.now() > deadlineMs) {
        throw new Error(
          `the database of DATABASE_URL (${wait.where}) could not be used for ${limitMs / 1_000} s: ${why}`,
          { cause },
        );
      }
      if (why !== told) wait.onWait(why);
      told = why;
      await setTimeout(pauseMs, undefined, { signal: wait.signal });
    }
  }
}

/** The address of the database, without credentials. */
export function placeOf(url: string): string {
  // The form for sockets, `postgres://user@/database?host=/path`, is no URL to Node.
  return (URL.parse(url)?.host ?? "") || "a local socket";
}

/** An error for a command that does not wait for the database, with the same reason as at a start. */
export function explainAway(error: unknown, url: string): Error {
  const { code } = error as { code?: string };
  const text = `the database of DATABASE_URL (${placeOf(url)}) cannot be used: ${whyNot(error)}`;
  return Object.assign(new Error(text, { cause: error }), { code });
}

/**
 * An error of a statement. When PostgreSQL refused the statement because a right, disk space or memory was missing, the
 * message also says what to do.
 */
export function explainRefusal(error: unknown, url: string): unknown {
  const { message, cause } = error as Error;
  const refusal = [error, cause].find(
    (one) =>
      one instanceof pg.DatabaseError &&
      /^(42501|53100|53200)$/.test(one.code ?? "") &&
      message.includes(one.message),
  );
  return refusal === undefined ? error : explainAway(refusal, url);
}

/** Whether a file that the database's URL names, such as a certificate, could not be opened. */
function isFileError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === "open";
}

/** Explains PostgreSQL's and Node's error codes, and says what to do. */
function whyNot(error: unknown): string {
  const { code = "", message } = error as Error & { code?: string };
  if (isFileError(error))
    return `a file that DATABASE_URL names cannot be read (${message}): correct its path, or remove sslrootcert to trust the usual authorities`;
  if (error instanceof AggregateError) return error.errors.map(whyNot).join(", ");
  if (code === "28P01") return `${message}: check the user and the password in DATABASE_URL`;
  if (code === "3D000") return `${message}: create it (createdb), or name another in DATABASE_URL`;
  if (code === "28000" && /no encryption|SSL off/i.test(message))
    return `${message}: the server demands TLS; add ?sslmode=verify-full to DATABASE_URL, or allow this client in pg_hba.conf`;
  if (code === "28000" && /^role .* does not exist$/.test(message))
    return `${message}: check the user in DATABASE_URL`;
  if (code === "28000") return `${message}: allow this client in the server's pg_hba.conf`;
  if (code === "42501")
    return `${message}: the user of DATABASE_URL has to own its database, or its schema and have CREATE on the database`;
  if (code === "25006") return `the database is read-only (${message}): name the primary in DATABASE_URL`;
  if (code === "53100") return `the disk of the database is full (${message}): make room`;
  if (isLockTableFull({ code, message }))
    return `${message}: its lock table is full; increase max_locks_per_transaction and restart it`;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `the name of its host is not known (${message})`;
  if (/does not support SSL/i.test(message))
    return `${message}: remove sslmode from DATABASE_URL, or PGSSLMODE from the environment, or turn on ssl at the server`;
  if (/^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|CERT_|ERR_TLS_)/.test(code))
    return `the server's TLS certificate is not trusted (${message}): add its authority with NODE_EXTRA_CA_CERTS, or sslmode=no-verify to DATABASE_URL`;
  if (/timeout/i.test(message)) return "it does not answer";
  return message;
}
