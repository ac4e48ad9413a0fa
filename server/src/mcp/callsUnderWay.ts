/** How long after its answer a call can still be found to have reached nobody, and before its start that it need not begin. */
const hearingMs = 30_000;
/** With more than this at once, those that come cannot be given up. */
const maxCalls = 10_000;

/**
 * The calls of this process that could be given up: a client tells so in a message of its own, which may come while
 * the call is under way, or when its answer has just left.
 */
export class CallsUnderWay {
  readonly #calls = new Map<string, { aborting: AbortController; undo: () => Promise<void> }>();
  readonly #undone = new Set<Promise<void>>();
  /** Given up before they began: the messages came over two connections, and the later one was read first. */
  readonly #early = new Set<string>();

  /** One call of a tool. @param name See {@link callName}. */
  begin(name: string) {
    const aborting = new AbortController();
    const entry = { aborting, undo: async (): Promise<void> => undefined };
    if (this.#early.delete(name)) aborting.abort(givenUp());
    else if (this.#calls.size < maxCalls) this.#calls.set(name, entry);
    return {
      /** Aborts when the caller gives it up. */
      signal: aborting.signal,
      /** Has this done if the answer reaches nobody; done at once when that is known. */
      onUnheard: (undo: () => Promise<void>): void => void (entry.undo = undo),
      /** Its answer is on its way. */
      end: (): void => {
        const forget = (): void => {
          if (this.#calls.get(name) === entry) this.#calls.delete(name);
        };
        setTimeout(forget, hearingMs).unref();
      },
    };
  }

  /**
   * The caller wants no answer any more: what is under way is aborted, and what was answered is undone.
   * @returns whether the call is known here.
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

  /** Gives up every call whose name begins so, and resolves when what they did is undone. */
  async giveUpAll(prefix: string): Promise<void> {
    for (const name of this.#calls.keys()) if (name.startsWith(prefix)) this.giveUp(name);
    await Promise.all(this.#undone);
  }
}

function givenUp(): Error {
  return new Error("the caller gave the call up");
}

/** The key of a request's id among all clients' calls. */
export function callName(client: string, requestId: unknown): string {
  return `${client} ${typeof requestId} ${String(requestId)}`;
}
