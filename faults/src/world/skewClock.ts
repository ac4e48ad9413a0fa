/**
 * Loaded by a process of the service before its own code: shifts the wall clock by SKEW_CLOCK_MS. Monotonic time
 * (`performance.now`, timers) is unchanged, as on a machine whose clock was always wrong.
 */
const skewMs = Number(process.env["SKEW_CLOCK_MS"] ?? 0);
const RightDate = Date;

class SkewedDate extends RightDate {
  constructor(...given: unknown[]) {
    if (given.length === 0) super(RightDate.now() + skewMs);
    else super(...(given as [number]));
  }

  static override now(): number {
    return RightDate.now() + skewMs;
  }
}

globalThis.Date = SkewedDate as DateConstructor;
