/** How long after its answer a call can still be canceled and undone, and how long before its start it can be canceled. */
const hearingMs = 30_000;
/** The most calls that are tracked. Further calls cannot be canceled. */
const maxCalls = 10_000;

/**
 * The calls of this process that can be canceled. A client cancels a call in a separate message, which may arrive while the call
 * is in progress or just after its answer was sent.
 */
export class CallsInFlight {
  readonly #calls = new Map<string, { aborting: AbortController; undo: () => Promise<void> }>();
  readonly #undone = new Set<Promise<void>>();
  /** Calls that were canceled before they began: the two messages came over two connections and were read in reverse order. */
  readonly #early = new Set<string>();

  /** Starts to track one call of a tool. @param name see {@link callName}. */
  begin(name: string) {
    const aborting = new AbortController();
    const entry = { aborting, undo: async (): Promise<void> => undefined };
    if (this.#early.delete(name)) aborting.abort(givenUp());
    else if (this.#calls.size < maxCalls) this.#calls.set(name, entry);
    return {
      /** Aborts when the client cancels the call. */
      signal: aborting.signal,
      /** Sets the function that undoes the call if its answer does not reach the client. */
      onUndelivered: (undo: () => Promise<void>): void => void (entry.undo = undo),
      /** Called when the answer is being sent. */
      end: (): void => {
        const forget = (): void => {
          if (this.#calls.get(name) === entry) this.#calls.delete(name);
        };
        setTimeout(forget, hearingMs).unref();
      },
    };
  }

  /**
   * Cancels a call: aborts it if it is in progress, and undoes what it did.
   * @returns whether this process has the call.
   */
  giveUp(name: string): boolean {
    const entry = this.#calls.get(name);
    if (entry === undefined) {
      this.#expect(name);
      return false;
    }
    this.#calls.delete(name);
    entry.aborting.abort(givenUp());
    const undone = entry.undo().catch(() => undefined);
    this.#undone.add(undone);
    void undone.finally(() => this.#undone.delete(undone));
    return true;
  }

  #expect(name: string): void {
    if (this.#early.size >= maxCalls) return;
    this.#early.add(name);
    setTimeout(() => this.#early.delete(name), hearingMs).unref();
  }

  /** Cancels every call whose name begins with `prefix`, and resolves when all of them are undone. */
  async giveUpAll(prefix: string): Promise<void> {
    for (const name of this.#calls.keys()) if (name.startsWith(prefix)) this.giveUp(name);
    await Promise.all(this.#undone);
  }
}

function givenUp(): Error {
  return new Error("the caller canceled the call");
}

/** The name of a call, unique among the calls of all clients. */
export function callName(client: string, requestId: unknown): string {
  return `${client} ${typeof requestId} ${String(requestId)}`;
}
