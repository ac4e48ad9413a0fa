import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Random } from "./billing/random.ts";
import { until } from "./embeddedProcess.ts";
import type { Load } from "./load.ts";
import { startService, type ServiceProcess } from "./serviceProcess.ts";

/** A service with its own database, and the ways in which a machine can end its processes. */
export interface Mortal {
  /** The service that runs now; another process after each of its deaths. */
  service(): ServiceProcess;
  /** Ends something without warning, chosen by chance, and brings back what does not come back by itself. */
  crash(random: Random): Promise<string>;
}

const ways = ["the service", "its database", "both at once"] as const;

export async function startMortal(dataDir: string, env: Record<string, string>): Promise<Mortal> {
  let service = await startService({ storage: { dataDir }, env });

  async function killDatabase(): Promise<void> {
    const record = await readFile(join(dataDir, "postgresql", "postmaster.pid"), "utf8");
    try {
      process.kill(Number(record.split("\n")[0]), "SIGKILL");
    } catch (error) {
      // It died with an earlier crash and is being restarted.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }

  return {
    service: () => service,
    async crash(random) {
      const way = random.pick(ways);
      if (way !== "the service") await killDatabase();
      if (way !== "its database") {
        service.kill("SIGKILL");
        await service.ended;
        service = await startService({ storage: { dataDir }, env });
      }
      return way;
    },
  };
}

/** Crashes again and again, each time after some more items were acknowledged; says what it did. */
export async function crashUnderLoad(
  mortal: Mortal,
  load: Load,
  { random, rounds }: { random: Random; rounds: number },
): Promise<string[]> {
  const done: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const goal = load.acknowledged().length + random.integer(20, 300);
    await until(`${goal} items are acknowledged after: ${done.join(", ")}`, 60_000, () => {
      return load.acknowledged().length >= goal;
    });
    done.push(await mortal.crash(random));
  }
  const goal = load.acknowledged().length + 50;
  await until(
    "items are acknowledged after the last crash",
    60_000,
    () => load.acknowledged().length >= goal,
  );
  return done;
}
