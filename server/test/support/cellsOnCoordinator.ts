import { migrate } from "../../src/postgres/migrate.ts";
import { bucketOf } from "../../src/postgres/ids.ts";
import { createPool } from "../../src/postgres/pool.ts";
import { joinNodes } from "./citus.ts";
import { createEmptyTestDatabase, type TestDatabase } from "./database.ts";
import { type Ended, runDatabaseCommand } from "./databaseCommand.ts";
import { stageTest } from "./fixtures.ts";
import { cellCount, switches } from "./plain.ts";
import { serviceFile, someKey, startProgram } from "./program.ts";
import { type Account, signUp, type TestNode } from "./testNode.ts";
import { until } from "./until.ts";
import { countSessions } from "./heldLocks.ts";

const silent = { onError: () => undefined };

/**
 * Each test has a Citus `database` with cells on the coordinator only, a `command` that runs there, and `kill`,
 * which ends a command by SIGKILL once it has written a text or a condition is true, and resolves when its
 * sessions are gone.
 */
export function cellsOnCoordinatorTest() {
  return stageTest
    .extend("database", async ({}, { onCleanup }) => {
      const database = await createEmptyTestDatabase();
      onCleanup(() => database.drop());
      await joinNodes(/\/(\w+)$/.exec(database.url)![1]!);
      const pool = createPool({ connection: database.connection, size: 1, ...silent });
      await migrate(pool, { cells: cellCount });
      await pool.end();
      return database;
    })
    .extend("pool", ({ database }, { onCleanup }) => {
      const pool = createPool({ connection: database.connection, size: 2, ...silent });
      onCleanup(() => pool.end());
      return pool;
    })
    .extend(
      "command",
      ({ database }) =>
        (words: string): Promise<Ended> =>
          runDatabaseCommand(["db", ...words.split(" ")], environmentOf(database)),
    )
    .extend(
      "kill",
      ({ database, pool }) =>
        async (words: string, when: RegExp | (() => Promise<boolean>)): Promise<void> => {
          const program = startProgram({
            command: [process.execPath, serviceFile, "db", ...words.split(" ")],
            env: environmentOf(database),
          });
          if (when instanceof RegExp) await program.says(when, 180_000);
          else await until(when, Boolean, 180_000);
          program.kill("SIGKILL");
          await program.ended;
          await until(
            () => countSessions(pool, "application_name", "postrider backup"),
            (count) => count === 0,
            60_000,
          );
        },
    );
}

function environmentOf({ url }: TestDatabase): Record<string, string> {
  return { ...switches, DATABASE_URL: url, POSTRIDER_ENCRYPTION_KEY: someKey };
}

/** Creates an account whose items are in a cell: the cell of an account is random. */
export async function accountIn(node: TestNode, cell: number): Promise<Account> {
  for (;;) {
    const account = await signUp(node);
    if (Math.floor((bucketOf(account.user.org_id) * cellCount) / 256) === cell) return account;
  }
}
