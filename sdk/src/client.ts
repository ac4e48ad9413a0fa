import { type FollowOptions, followStream, type StreamEvent } from "./followStream.ts";
import {
  type Customer,
  type DryRun,
  type EventSummary,
  type ListedEventType,
  type MessageSummary,
  type Operations,
  operationTable,
  type PublicationSummary,
  type ReplayFilter,
  type ReplayJob,
} from "./operations.generated.ts";
import { callOperation, type Transport } from "./request.ts";

export { PostriderError } from "./postriderError.ts";
export type * from "./operations.generated.ts";
export type { FollowOptions, StreamedAttempt, StreamEvent, StreamSummary } from "./followStream.ts";
export type { CallOptions } from "./request.ts";

export interface ClientOptions {
  /** Where the service is, such as `https://postrider.example.com`. */
  baseUrl: string;
  /** `ak_live_…`, for programs. */
  apiKey?: string;
  /** From signup or login, for what API keys may not do. */
  sessionToken?: string;
  /** For each attempt; 30 s unless given. */
  timeoutMs?: number;
  /** For all attempts of a call together; without a limit unless given. */
  deadlineMs?: number;
  /** How often a call is tried in all; 5 unless given. */
  maxAttempts?: number;
  /** The first wait between attempts; it doubles with each. 500 ms unless given. */
  retryBaseMs?: number;
  /** In place of the global one. */
  fetch?: typeof fetch;
}

/** A client of the service: one method for each operation, and iteration over long lists. */
export interface Client extends Operations {
  /** All events that fit, newest first unless `order` says otherwise, page by page. */
  allEvents(filter?: Omit<Options<"listEvents">, "limit" | "offset">): AsyncGenerator<EventSummary, void>;
  /** All messages of a mailbox that fit, oldest first, page by page. */
  allMessages(
    mailboxId: string,
    filter?: Omit<Options<"listMessages">, "limit">,
  ): AsyncGenerator<MessageSummary, void>;
  /** Replays all events that fit, in the background; `readReplay` says how far it is. */
  replayMatching(filter: ReplayFilter, options?: MatchingOptions): Promise<ReplayJob>;
  /** How many events {@link replayMatching} would replay. */
  countMatching(filter: ReplayFilter, options?: Pick<MatchingOptions, "includeReplayed">): Promise<DryRun>;
  /** All replays of many events, newest first, page by page. */
  allReplays(): AsyncGenerator<ReplayJob, void>;
  /** All publications that fit, newest first, page by page. */
  allPublications(
    filter?: Omit<Options<"listPublications">, "limit">,
  ): AsyncGenerator<PublicationSummary, void>;
  /** All customers that fit, by uid, page by page. */
  allCustomers(filter?: Omit<Options<"listCustomers">, "limit">): AsyncGenerator<Customer, void>;
  /** All event types that fit, by name, without schemas and examples, page by page. */
  allEventTypes(filter?: Omit<Options<"listEventTypes">, "limit">): AsyncGenerator<ListedEventType, void>;
  /** Events of the organization in real time; see {@link followStream}. */
  follow(options?: FollowOptions): AsyncGenerator<StreamEvent, void>;
}

type Options<Name extends keyof Operations> = NonNullable<Last<Parameters<Operations[Name]>>>;
type Last<List extends unknown[]> = Required<List> extends [...unknown[], infer Tail] ? Tail : never;

/**
 * Creates a client. Every method rejects with a {@link PostriderError} when the service refuses or cannot be reached.
 * @throws {TypeError} for a credential that no header can carry, which it does not repeat.
 */
export function createClient(options: ClientOptions): Client {
  const transport: Transport = {
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    headers: credentialHeaders(options),
    timeoutMs: options.timeoutMs ?? 30_000,
    deadlineMs: options.deadlineMs ?? Number.POSITIVE_INFINITY,
    maxAttempts: options.maxAttempts ?? 5,
    retryBaseMs: options.retryBaseMs ?? 500,
    // Browsers refuse to call it as another object's method.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
  };
  const operations = Object.fromEntries(
    Object.entries(operationTable).map(([name, row]) => [
      name,
      (...inputs: unknown[]) => callOperation(transport, row, inputs),
    ]),
  ) as unknown as Operations;
  return {
    ...operations,
    allEvents: (filter) => allEvents(operations, filter),
    allMessages: (mailboxId, filter) => allMessages(operations, mailboxId, filter),
    // Which of the two answers it is follows from dry_run.
    replayMatching: (filter, { ratePerSecond, includeReplayed, webhookId } = {}) =>
      operations.startReplay({
        filter,
        ...(ratePerSecond !== undefined && { rate_per_second: ratePerSecond }),
        ...(includeReplayed !== undefined && { include_replayed: includeReplayed }),
        ...(webhookId !== undefined && { webhook_id: webhookId }),
      }) as Promise<ReplayJob>,
    countMatching: (filter, { includeReplayed } = {}) =>
      operations.startReplay({
        filter,
        dry_run: true,
        ...(includeReplayed !== undefined && { include_replayed: includeReplayed }),
      }) as Promise<DryRun>,
    allReplays: () => allReplays(operations),
    allPublications: (filter) => allPublications(operations, filter),
    allCustomers: (filter) => allCustomers(operations, filter),
    allEventTypes: (filter) => allEventTypes(operations, filter),
    follow: (options = {}) => followStream(transport, options),
  };
}

/** Checked here, because `fetch` would put a value that it refuses, and so the secret, into its message. */
function credentialHeaders({ apiKey, sessionToken }: ClientOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (apiKey !== undefined) headers["authorization"] = `Bearer ${carried("apiKey", apiKey)}`;
  if (sessionToken !== undefined) headers["x-session-token"] = carried("sessionToken", sessionToken);
  return headers;
}

/** Without blanks and line ends around it, such as a file has. */
function carried(name: "apiKey" | "sessionToken", text: string): string {
  const value = text.trim();
  if (/[^!-~]/.test(value)) {
    throw new TypeError(`${name} contains a blank, a line break or another character that is not allowed`);
  }
  return value;
}

const pageSize = 100;

/** A list from its beginning to its end, each page behind the last entry of the one before. */
async function* pages<Entry>(
  read: (last: Entry | undefined) => Promise<Entry[]>,
): AsyncGenerator<Entry, void> {
  for (let last: Entry | undefined; ;) {
    const entries = await read(last);
    yield* entries;
    if (entries.length < pageSize) return;
    last = entries.at(-1)!;
  }
}

function allEvents(
  operations: Pick<Operations, "listEvents">,
  filter: Omit<Options<"listEvents">, "limit" | "offset"> = {},
): AsyncGenerator<EventSummary, void> {
  const behind = filter.order === "asc" ? "after" : "before";
  return pages(async (last) => {
    const page = { ...filter, ...(last && { [behind]: last.id }), limit: pageSize };
    return (await operations.listEvents(page)).events;
  });
}

function allMessages(
  operations: Pick<Operations, "listMessages">,
  mailboxId: string,
  filter: Omit<Options<"listMessages">, "limit"> = {},
): AsyncGenerator<MessageSummary, void> {
  return pages(async (last) => {
    const page = { ...filter, ...(last && { after: last.id }), limit: pageSize };
    return (await operations.listMessages(mailboxId, page)).messages;
  });
}

function allReplays(operations: Pick<Operations, "listReplays">): AsyncGenerator<ReplayJob, void> {
  return pages(async (last) => {
    const page = { ...(last && { before: last.id }), limit: pageSize };
    return (await operations.listReplays(page)).replays;
  });
}

function allPublications(
  operations: Pick<Operations, "listPublications">,
  filter: Omit<Options<"listPublications">, "limit"> = {},
): AsyncGenerator<PublicationSummary, void> {
  return pages(async (last) => {
    const page = { ...filter, ...(last && { before: last.id }), limit: pageSize };
    return (await operations.listPublications(page)).publications;
  });
}

function allCustomers(
  operations: Pick<Operations, "listCustomers">,
  filter: Omit<Options<"listCustomers">, "limit"> = {},
): AsyncGenerator<Customer, void> {
  return pages(async (last) => {
    const page = { ...filter, ...(last && { after: last.uid }), limit: pageSize };
    return (await operations.listCustomers(page)).customers;
  });
}

function allEventTypes(
  operations: Pick<Operations, "listEventTypes">,
  filter: Omit<Options<"listEventTypes">, "limit"> = {},
): AsyncGenerator<ListedEventType, void> {
  return pages(async (last) => {
    const page = { ...filter, ...(last && { after: last.name }), limit: pageSize };
    return (await operations.listEventTypes(page)).event_types;
  });
}

/** How {@link Client.replayMatching} replays. */
export interface MatchingOptions {
  ratePerSecond?: number;
  /** Also the failures that have a replay which is under way or went through. */
  includeReplayed?: boolean;
  /** A webhook-id of its own for each replay, for receivers that must apply the events again. */
  webhookId?: "new";
}
