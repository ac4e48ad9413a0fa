import { queryOptions } from "@tanstack/react-query";
import { answer, client, given } from "../api/client.ts";
import type { EventType, EventTypeInput, ImportedEventTypes, ListedEventType } from "../api/shapes.ts";

export const eventTypePage = 50;

/** The filter of the list. */
export interface EventTypeFilter {
  prefix?: string | undefined;
  deprecated?: "true" | "false" | undefined;
}

interface Paging {
  /** The last name of the previous page. */
  after?: string | undefined;
  limit?: number;
  signal: AbortSignal;
}

/** A page of the catalogue, sorted by name. @throws {Problem} */
export async function listEventTypes(
  { prefix, deprecated }: EventTypeFilter,
  { after, limit = eventTypePage, signal }: Paging,
): Promise<ListedEventType[]> {
  const query = given({ limit, prefix, deprecated, after });
  return (await answer(client.GET("/api/v1/event-types", { params: { query }, signal }))).event_types;
}

export function eventTypeQuery(name: string) {
  return queryOptions({
    queryKey: ["eventTypes", "one", name],
    queryFn: ({ signal }) => getEventType(name, { signal }),
  });
}

/** @throws {Problem} */
export function getEventType(name: string, init: { signal?: AbortSignal } = {}): Promise<EventType> {
  return answer(client.GET("/api/v1/event-types/{name}", { params: { path: { name } }, ...init }));
}

/** @throws {Problem} */
export function putEventType(name: string, body: EventTypeInput): Promise<EventType> {
  return answer(client.PUT("/api/v1/event-types/{name}", { params: { path: { name } }, body }));
}

/** Imports event types from a document's webhooks; a dry run only returns the changes. @throws {Problem} */
export function importEventTypes(
  body: Record<string, unknown> | string,
  isDryRun: boolean,
): Promise<ImportedEventTypes> {
  const query = { dry_run: isDryRun ? "true" : "false" } as const;
  return answer(client.POST("/api/v1/event-types/import", { params: { query }, body }));
}

/** The rule for names, as users read it. */
export const typeNameRule =
  "1 to 256 printable ASCII characters without *, and without a space at the beginning or end";

export function isTypeName(text: string): boolean {
  return /^[!-)+-~](?:[ -)+-~]{0,254}[!-)+-~])?$/.test(text) && text !== "." && text !== "..";
}

/** Whether a name can begin with this text. */
export function isTypePrefix(text: string): boolean {
  return /^[ -~]{1,256}$/.test(text);
}
