import type { QueryClient } from "@tanstack/react-query";
import { readText } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { currentSession } from "../api/session.ts";
import { liveState, setConnection, subscribeLive } from "./liveState.ts";
import { readStream, type StreamEvent } from "./readStream.ts";

/**
 * What the page keeps by each kind of stream event. Rates are high: events only mark what is stale, and the marks are
 * acted on at most twice a second, so that 5,000 items a second cost the page as much as two.
 */
const staleAfter: Record<string, readonly string[]> = {
  item: ["items", "stats", "mailboxes"],
  attempt: ["items", "stats", "health"],
  summary: ["items", "stats", "health", "mailboxes"],
  target: ["targets", "health"],
  mailbox: ["mailboxes", "health"],
  handoff: ["handoffs", "items"],
  reset: ["items", "stats", "health", "targets", "mailboxes", "handoffs"],
};

const refreshMs = 1000;
/** The service sends a comment every 15 s; a connection silent for longer is dead. */
const silenceMs = 40_000;
const firstRetryMs = 1000;
const longestRetryMs = 15_000;
/** A service without the stream is asked again only now and then. */
const withoutStreamMs = 60_000;

/** Follows the stream while someone is signed in and looking; returns what ends it. */
export function followStream(queries: QueryClient): () => void {
  let reading: AbortController | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let lastId: string | undefined;
  let failures = 0;
  const stale = new Set<string>();
  const refresh = setInterval(() => {
    if (stale.size === 0 || liveState() === "Paused" || document.hidden) return;
    const keys = [...stale];
    stale.clear();
    for (const key of keys) void queries.invalidateQueries({ queryKey: [key] }, { cancelRefetch: false });
  }, refreshMs);

  function take(event: StreamEvent): void {
    if (event.id !== undefined) lastId = event.id;
    for (const key of staleAfter[event.type] ?? []) stale.add(key);
  }

  async function read(controller: AbortController): Promise<void> {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => controller.abort(), silenceMs);
    };
    try {
      heard();
      const response = await readText("api/v1/stream", {
        signal: controller.signal,
        headers: lastId === undefined ? {} : { "last-event-id": lastId },
      });
      setConnection("Live");
      failures = 0;
      if (response.body !== null) await readStream(response.body, take, heard);
      again(firstRetryMs, "Reconnecting");
    } catch (error) {
      const hasNoStream = error instanceof Problem && error.status === 404;
      failures += 1;
      const waitMs = Math.min(longestRetryMs, firstRetryMs * 2 ** (failures - 1));
      again(hasNoStream ? withoutStreamMs : waitMs, hasNoStream ? "Polling" : "Reconnecting");
    } finally {
      clearTimeout(silence);
    }
  }

  function again(waitMs: number, state: "Reconnecting" | "Polling"): void {
    if (reading === undefined) return;
    reading = undefined;
    setConnection(state);
    // After a gap, everything on the page may have changed.
    if (state === "Reconnecting") for (const key of staleAfter["reset"] ?? []) stale.add(key);
    retry = setTimeout(start, waitMs);
  }

  function start(): void {
    clearTimeout(retry);
    if (document.hidden || liveState() === "Paused" || currentSession() === undefined) return;
    if (reading !== undefined) return;
    reading = new AbortController();
    void read(reading);
  }

  function stop(): void {
    clearTimeout(retry);
    const ending = reading;
    reading = undefined;
    ending?.abort();
  }

  const followOrStop = (): void => {
    if (document.hidden || liveState() === "Paused") stop();
    else if (reading === undefined) start();
  };
  document.addEventListener("visibilitychange", followOrStop);
  const unsubscribe = subscribeLive(followOrStop);
  start();
  return () => {
    document.removeEventListener("visibilitychange", followOrStop);
    unsubscribe();
    clearInterval(refresh);
    stop();
  };
}
