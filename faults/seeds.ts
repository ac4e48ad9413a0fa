/**
 * What a run is made of: `FAULT_SEED` (default: the time, so that every run is another), `FAULT_RUNS` (default 3), the
 * seeds being consecutive, and `FAULT_ROUNDS`, the faults in each (default 20).
 */
export const rounds = Number(process.env["FAULT_ROUNDS"] ?? 20);

export const seeds = Array.from(
  { length: Number(process.env["FAULT_RUNS"] ?? 3) },
  (_, run) => Number(process.env["FAULT_SEED"] ?? Math.floor(Date.now() / 1000)) + run,
);
