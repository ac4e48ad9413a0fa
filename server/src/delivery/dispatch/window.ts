/** The window doubles with each round of successes: a receiver reaches the usual 32 after five rounds. */
const firstWindow = 1;
/** How many failures, or timeouts, in a row open the circuit, and for how long. A timeout held a connection for a whole attempt. */
const circuit = { failures: 10, timeouts: 2, firstOpenMs: 1_000, maxOpenMs: 30_000 };

/**
 * How many requests a target can take: a window by AIMD (additive increase, multiplicative decrease), +1 with each success
 * and halved when the receiver hangs or is overloaded, so that one that is untried or hangs never holds more than a few
 * connections; and a circuit breaker, which closes the window for a while after failures in a row. Moments are of the monotonic
 * clock.
 */
export class Window {
  #size = firstWindow;
  #max: number;
  #failures = 0;
  #timeouts = 0;
  #openUntilMs = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many requests may be under way now. */
  get size(): number {
    return this.#size;
  }

  /** No request starts before this moment: the circuit is open, or the window is paused. */
  get closedUntilMs(): number {
    return this.#openUntilMs;
  }

  /** Changes how far the window opens; what is under way beyond it ends by itself. */
  setMax(max: number): void {
    this.#max = max;
    this.#size = Math.max(1, Math.min(this.#size, max));
  }

  /** Whether one more request may start beside those under way. */
  admits(inFlight: number, nowMs: number): boolean {
    if (inFlight >= this.#size || this.#openUntilMs > nowMs) return false;
    // Half-open: after an open circuit one request probes the target before others follow.
    return inFlight === 0 || !this.isTripped();
  }

  /** Whether failures keep requests from the target for now. */
  isCircuitOpen(nowMs: number): boolean {
    return this.#openUntilMs > nowMs && this.isTripped();
  }

  /** Whether there were so many failures in a row that the circuit is open or half-open. */
  isTripped(): boolean {
    return this.#failures >= circuit.failures || this.#timeouts >= circuit.timeouts;
  }

  noteSuccess(): void {
    this.#failures = 0;
    this.#timeouts = 0;
    this.#openUntilMs = 0;
    if (this.#size < this.#max) this.#size++;
  }

  /** @param slowDown The target is overloaded or hangs, rather than refuses. */
  noteFailure(slowDown: boolean, isTimeout: boolean, nowMs: number): void {
    this.#failures++;
    // While the circuit is open, timeouts are of requests sent before it opened, and do not count again.
    if (!isTimeout) this.#timeouts = 0;
    else if (this.#openUntilMs <= nowMs) this.#timeouts++;
    if (slowDown || this.isTripped()) this.#halve();
    if (!this.isTripped()) return;
    const more = Math.max((this.#failures - circuit.failures) >> 2, this.#timeouts - circuit.timeouts);
    const doublings = Math.min(5, Math.max(0, more));
    this.#openUntilMs = nowMs + Math.min(circuit.maxOpenMs, circuit.firstOpenMs * 2 ** doublings);
  }

  /** Starts nothing before that moment, and fewer at a time after it; counts as no failure. */
  pause(untilMs: number): void {
    this.closeUntil(untilMs);
    this.#halve();
  }

  /** Starts nothing before that moment. */
  closeUntil(untilMs: number): void {
    this.#openUntilMs = Math.max(this.#openUntilMs, untilMs);
  }

  #halve(): void {
    this.#size = Math.max(1, this.#size >> 1);
  }
}
