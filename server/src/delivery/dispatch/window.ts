/** The window doubles with each round of successes: a receiver reaches the usual 32 after five rounds. */
const firstWindow = 1;
/**
 * How many consecutive failures or timeouts open the circuit, and for how long. Two timeouts suffice, because each holds a
 * connection for a whole attempt.
 */
const circuit = { failures: 10, timeouts: 2, firstOpenMs: 1_000, maxOpenMs: 30_000 };

/**
 * How many requests a target can take. The window follows AIMD (additive increase, multiplicative decrease): +1 with each
 * success, halved when the receiver hangs or is overloaded. An untried or hanging receiver therefore never holds more than a few
 * connections. The circuit breaker closes the window for a while after consecutive failures. Times are on the monotonic clock.
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

  /** The maximum number of requests in flight now. */
  get size(): number {
    return this.#size;
  }

  /** No request starts before this moment: the circuit is open, or the window is paused. */
  get closedUntilMs(): number {
    return this.#openUntilMs;
  }

  /** Sets the window's maximum. Requests in flight above it are not interrupted. */
  setMax(max: number): void {
    this.#max = max;
    this.#size = Math.max(1, Math.min(this.#size, max));
  }

  /** Whether one more request may start, given the number of requests in flight. */
  admits(inFlight: number, nowMs: number): boolean {
    if (inFlight >= this.#size || this.#openUntilMs > nowMs) return false;
    // Half-open: after an open circuit, one request probes the target before others start.
    return inFlight === 0 || !this.isTripped();
  }

  /** Whether the circuit breaker blocks requests to the target now. */
  isCircuitOpen(nowMs: number): boolean {
    return this.#openUntilMs > nowMs && this.isTripped();
  }

  /** Whether there were enough consecutive failures that the circuit is open or half-open. */
  isTripped(): boolean {
    return this.#failures >= circuit.failures || this.#timeouts >= circuit.timeouts;
  }

  noteSuccess(): void {
    this.#failures = 0;
    this.#timeouts = 0;
    this.#openUntilMs = 0;
    if (this.#size < this.#max) this.#size++;
  }

  /** @param slowDown Whether the target is overloaded or hangs, as opposed to refusing the request. */
  noteFailure(slowDown: boolean, isTimeout: boolean, nowMs: number): void {
    this.#failures++;
    // Timeouts during an open circuit belong to requests that were sent before it opened, and do not count again.
    if (!isTimeout) this.#timeouts = 0;
    else if (this.#openUntilMs <= nowMs) this.#timeouts++;
    if (slowDown || this.isTripped()) this.#halve();
    if (!this.isTripped()) return;
    const more = Math.max((this.#failures - circuit.failures) >> 2, this.#timeouts - circuit.timeouts);
    const doublings = Math.min(5, Math.max(0, more));
    this.#openUntilMs = nowMs + Math.min(circuit.maxOpenMs, circuit.firstOpenMs * 2 ** doublings);
  }

  /** Starts no request before `untilMs` and halves the window; does not count as a failure. */
  pause(untilMs: number): void {
    this.closeUntil(untilMs);
    this.#halve();
  }

  /** Starts no request before `untilMs`. */
  closeUntil(untilMs: number): void {
    this.#openUntilMs = Math.max(this.#openUntilMs, untilMs);
  }

  #halve(): void {
    this.#size = Math.max(1, this.#size >> 1);
  }
}
