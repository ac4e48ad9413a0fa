/** How often work is begun in all. */
const maxRuns = 4;

/**
 * Runs a transaction again when PostgreSQL ended it to resolve a deadlock (40P01): all that it did is undone, and the other
 * one goes on. This holds on one server and on several. Whatever a transaction does outside the database must be safe to repeat.
 * @throws the last error, also a deadlock's when it happens four times in a row.
 */
export async function repeatDeadlocked<T>(runTransaction: () => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    try {
      return await runTransaction();
    } catch (error) {
      if (run === maxRuns || (error as { code?: unknown } | undefined)?.code !== deadlockDetected)
        throw error;
    }
  }
}

const deadlockDetected = "40P01";
