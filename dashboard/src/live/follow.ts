import type { InfiniteData, Query, QueryClient } from "@tanstack/react-query";
import { readText } from "../api/client.ts";
import { isPassing, Problem } from "../api/problem.ts";
import { currentSession, subscribeSession } from "../api/session.ts";
import { liveState, setConnection, setPollPause, subscribeLive } from "./liveState.ts";
import { readStream, type StreamEvent } from "./readStream.ts";

/**
 * Cached queries that become stale, by type of stream event. An event only marks queries; marked queries are read again once a
 * second, so that 5,000 items a second cost the page as much as two. Queries of a mailbox are marked by `changedTargets`.
 */
const staleAfter: Record<string, readonly string[]> = {
  item: ["items", "stats"],
  attempt: ["items", "stats", "health"],
  summary: ["items", "stats", "health"],
  target: ["targets", "health"],
  // Claims and acknowledgements change the status of items.
  mailbox: ["health", "items"],
  handoff: ["handoffs", "items"],
  // No event reports changes between the first reads and the start of the stream, or while the page was paused or hidden.
  begin: ["items", "stats", "handoffs"],
  reset: ["items", "stats", "health", "targets", "handoffs"],
};

const refreshMs = 1000;
/** Data of single targets is refreshed less often: with 50 targets, a refresh every second would load the service. */
const refreshAfterMs: Record<string, number> = { health: 5000, mailboxes: 2000, targets: 2000 };
/** A list of several pages waits so long for each page, because it is read with a request for each. */
const refreshPageAfterMs = 1000;
/** The service sends a comment every 15 s; a connection silent for longer is dead. */
const silenceMs = 40_000;
const firstRetryMs = 1000;
const longestRetryMs = 30_000;
/** Wait before the next try if the service has no stream. */
const withoutStreamMs = 60_000;

/** Follows the stream while a user is signed in and the page is visible. Returns a function that stops it. */
export function followStream(queries: QueryClient): () => void {
  const stale = new Set<string>();
  const isOpen = (mailbox: string): boolean =>
    queries.getQueryCache().findAll({ queryKey: ["mailboxes", mailbox], type: "active" }).length > 0;
  const follower = new Follower((event) => {
    for (const key of staleAfter[event.type] ?? []) stale.add(key);
    if (changedTargets(event).some((id) => id === undefined || isOpen(id))) stale.add("mailboxes");
  });
  const readAtMs = new Map<string, number>();
  const refresh = setInterval(() => {
    if (liveState() === "Paused" || document.hidden) return;
    for (const key of stale) {
      const now = performance.now();
      if (now - (readAtMs.get(key) ?? Number.NEGATIVE_INFINITY) < (refreshAfterMs[key] ?? 0)) continue;
      // A read in progress may have begun before the change of the event, so the query stays marked and is read once more.
      if (queries.isFetching({ queryKey: [key] }) === 0) stale.delete(key);
      readAtMs.set(key, now);
      const ofKey = { queryKey: [key] };
      void queries.invalidateQueries({ ...ofKey, predicate: isLong, refetchType: "none" });
      void queries.invalidateQueries(
        { ...ofKey, predicate: (query) => !isLong(query) },
        { cancelRefetch: false },
      );
    }
    void queries.refetchQueries({ type: "active", predicate: isLongAndDue }, { cancelRefetch: false });
  }, refreshMs);
  const followOrStop = (): void => {
    if (document.hidden || liveState() === "Paused") follower.stop();
    else follower.start();
  };
  const followAgain = (): void => {
    follower.stop();
    followOrStop();
  };
  document.addEventListener("visibilitychange", followOrStop);
  window.addEventListener("online", followAgain);
  const unsubscribe = subscribeLive(followOrStop);
  // Starts again when the user of an ended session signs in again on this page.
  const unsubscribeSession = subscribeSession(followOrStop);
  followOrStop();
  return () => {
    document.removeEventListener("visibilitychange", followOrStop);
    window.removeEventListener("online", followAgain);
    unsubscribe();
    unsubscribeSession();
    clearInterval(refresh);
    follower.stop();
  };
}

/**
 * The targets whose items or messages an event reports as changed; undefined stands for any target. An event that carries no
 * ids reports none.
 */
function changedTargets({ type, data }: Pick<StreamEvent, "type" | "data">): (string | undefined)[] {
  if (type === "begin" || type === "reset") return [undefined];
  if (type !== "item" && type !== "mailbox" && type !== "summary") return [];
  const { id, target_id: target, targets } = JSON.parse(data) as ChangeData;
  if (type === "mailbox") return [id];
  return type === "item" ? [target] : targets!.map((one) => one.target_id ?? undefined);
}

/** The parts of an event's data that are read here. */
interface ChangeData {
  id?: string;
  target_id?: string;
  targets?: { target_id: string | null }[];
}

function pagesOf({ state }: Query): number {
  return (state.data as Partial<InfiniteData<unknown>> | undefined)?.pages?.length ?? 1;
}

function isLong(query: Query): boolean {
  return pagesOf(query) > 1;
}

function isLongAndDue(query: Query): boolean {
  const { isInvalidated, dataUpdatedAt, errorUpdatedAt } = query.state;
  const waitMs = pagesOf(query) * refreshPageAfterMs;
  return isInvalidated && isLong(query) && Date.now() - Math.max(dataUpdatedAt, errorUpdatedAt) >= waitMs;
}

/** Holds at most one connection to the stream, and reconnects after it is lost. */
class Follower {
  readonly #onEvent: (event: Pick<StreamEvent, "type" | "data">) => void;
  #reading: AbortController | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #lastId: string | undefined;
  #failures = 0;
  #hasFollowed = false;

  constructor(onEvent: (event: Pick<StreamEvent, "type" | "data">) => void) {
    this.#onEvent = onEvent;
  }

  start(): void {
    if (this.#reading !== undefined || currentSession() === undefined) return;
    clearTimeout(this.#retry);
    this.#reading = new AbortController();
    void this.#read(this.#reading);
  }

  stop(): void {
    clearTimeout(this.#retry);
    const ending = this.#reading;
    this.#reading = undefined;
    this.#failures = 0;
    ending?.abort();
  }

  async #read(connection: AbortController): Promise<void> {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => connection.abort(), silenceMs);
    };
    try {
      heard();
      const response = await readText("api/v1/stream", {
        signal: connection.signal,
        headers: this.#lastId === undefined ? {} : { "last-event-id": this.#lastId },
      });
      setConnection("Live");
      setPollPause(0);
      this.#failures = 0;
      this.#onEvent({ type: this.#hasFollowed ? "reset" : "begin", data: "" });
      this.#hasFollowed = true;
      if (response.body !== null) await readStream(response.body, (event) => this.#take(event), heard);
      this.#again(connection, firstRetryMs);
    } catch (error) {
      if (this.#reading !== connection) return;
      if (error instanceof Problem && error.status === 404) {
        this.#again(connection, withoutStreamMs, "Polling");
        return;
      }
      const waitMs = Math.min(longestRetryMs, firstRetryMs * 2 ** this.#failures);
      this.#failures += 1;
      // Pages poll once between two tries.
      setPollPause(isPassing(error) ? waitMs / 2 : 0);
      this.#again(connection, waitMs);
    } finally {
      clearTimeout(silence);
    }
  }

  #take(event: StreamEvent): void {
    if (event.id !== undefined) this.#lastId = event.id;
    this.#onEvent(event);
  }

  /** Tries again in 75 % to 125 % of `waitMs`, so that many tabs do not return at the same moment. */
  #again(
    connection: AbortController,
    waitMs: number,
    state: "Reconnecting" | "Polling" = "Reconnecting",
  ): void {
    if (this.#reading !== connection) return;
    // Told while the connection counts as open: a listener would start the next one at once.
    setConnection(state);
    this.#reading = undefined;
    this.#retry = setTimeout(() => this.start(), waitMs * (0.75 + Math.random() / 2));
  }
}
