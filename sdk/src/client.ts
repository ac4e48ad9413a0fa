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
  /** Address of the service, such as `https://postrider.example.com`. */
  baseUrl: string;
  /** API key (`ak_live_…`), for programs. */
  apiKey?: string;
  /** Token of a user's session, from signup or login, for operations that API keys may not call. */
  sessionToken?: string;
  /** Time limit of each attempt; 30 s by default. */
  timeoutMs?: number;
  /** Time limit of all attempts of a call together; none by default. */
  deadlineMs?: number;
  /** Maximum number of attempts of a call, including the first; 5 by default. */
  maxAttempts?: number;
  /** Maximum wait before the first retry, doubled for each further one; 500 ms by default. */
  retryBaseMs?: number;
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
  /** Parses answers in place of `JSON.parse`, which rounds whole numbers beyond 2^53 in payloads. */
  parseJson?: (text: string) => unknown;
}

/** A client of the service: one method for each operation, and iteration over long lists. */
export interface Client extends Operations {
  /** All events that match the filter, read page by page; newest first, or oldest first with `order: "asc"`. */
  allEvents(filter?: Omit<Options<"listEvents">, "limit" | "offset">): AsyncGenerator<EventSummary, void>;
  /** All messages of a mailbox that match the filter, oldest first, read page by page. */
  allMessages(
    mailboxId: string,
    filter?: Omit<Options<"listMessages">, "limit">,
  ): AsyncGenerator<MessageSummary, void>;
  /** Starts a replay of all events that match the filter. It runs in the service; `readReplay` returns its progress. */
  replayMatching(filter: ReplayFilter, options?: MatchingOptions): Promise<ReplayJob>;
  /** Number of events that {@link replayMatching} would replay. */
  countMatching(filter: ReplayFilter, options?: Pick<MatchingOptions, "includeReplayed">): Promise<DryRun>;
  /** All replays of many events, newest first, read page by page. */
  allReplays(): AsyncGenerator<ReplayJob, void>;
  /** All publications that match the filter, newest first, read page by page. */
  allPublications(
    filter?: Omit<Options<"listPublications">, "limit">,
  ): AsyncGenerator<PublicationSummary, void>;
  /** All customers that match the filter, sorted by uid, read page by page. */
  allCustomers(filter?: Omit<Options<"listCustomers">, "limit">): AsyncGenerator<Customer, void>;
  /** All event types that match the filter, sorted by name, without schemas and examples, read page by page. */
  allEventTypes(filter?: Omit<Options<"listEventTypes">, "limit">): AsyncGenerator<ListedEventType, void>;
  /** Changes of the organization in real time; see {@link followStream}. */
  follow(options?: FollowOptions): AsyncGenerator<StreamEvent, void>;
}

type Options<Name extends keyof Operations> = NonNullable<Last<Parameters<Operations[Name]>>>;
type Last<List extends unknown[]> = Required<List> extends [...unknown[], infer Tail] ? Tail : never;

/**
 * Creates a client. Every method rejects with a {@link PostriderError} when the service refuses or cannot be reached.
 * @throws {TypeError} for a credential that no header can carry; the message does not contain the credential.
 */
export function createClient(options: ClientOptions): Client {
  const transport: Transport = {
    baseUrl: options.baseUrl.replace(/\/+$/, ""),
    headers: credentialHeaders(options),
    timeoutMs: options.timeoutMs ?? 30_000,
    deadlineMs: options.deadlineMs ?? Number.POSITIVE_INFINITY,
    maxAttempts: options.maxAttempts ?? 5,
    retryBaseMs: options.retryBaseMs ?? 500,
    // Wrapped, because browsers refuse to call `fetch` as a method of another object.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    parseJson: options.parseJson ?? ((text) => JSON.parse(text) as unknown),
  };
  const operations = Object.fromEntries(
    Object.entries(operationTable).map(([name, row]) => [
      name,
      (...inputs: unknown[]) => callOperation(transport, row, inputs),
    ]),
  ) as unknown as Operations;
  return {
    ...operations,
    allEvents: (filter = {}) =>
      pages(
        async (page) => (await operations.listEvents({ ...filter, ...page })).events,
        ({ id }): { before?: string; after?: string } =>
          filter.order === "asc" ? { after: id } : { before: id },
      ),
    allMessages: (mailboxId, filter = {}) =>
      pages(
        async (page) => (await operations.listMessages(mailboxId, { ...filter, ...page })).messages,
        ({ id }) => ({ after: id }),
      ),
    // The casts are safe: `startReplay` returns a `DryRun` with `dry_run`, and a `ReplayJob` without it.
    replayMatching: (filter, { ratePerSecond, includeReplayed, webhookId } = {}) =>
      operations.startReplay({
        filter,
        rate_per_second: ratePerSecond,
        include_replayed: includeReplayed,
        webhook_id: webhookId,
      }) as Promise<ReplayJob>,
    countMatching: (filter, { includeReplayed } = {}) =>
      operations.startReplay({
        filter,
        dry_run: true,
        include_replayed: includeReplayed,
      }) as Promise<DryRun>,
    allReplays: () =>
      pages(
        async (page) => (await operations.listReplays(page)).replays,
        ({ id }) => ({ before: id }),
      ),
    allPublications: (filter = {}) =>
      pages(
        async (page) => (await operations.listPublications({ ...filter, ...page })).publications,
        ({ id }) => ({ before: id }),
      ),
    allCustomers: (filter = {}) =>
      pages(
        async (page) => (await operations.listCustomers({ ...filter, ...page })).customers,
        ({ uid }) => ({ after: uid }),
      ),
    allEventTypes: (filter = {}) =>
      pages(
        async (page) => (await operations.listEventTypes({ ...filter, ...page })).event_types,
        ({ name }) => ({ after: name }),
      ),
    follow: (options = {}) => followStream(transport, options),
  };
}

/** Checks credentials before `fetch` does: the message of its error would contain the secret. */
function credentialHeaders({ apiKey, sessionToken }: ClientOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  if (apiKey !== undefined) headers["authorization"] = `Bearer ${carried("apiKey", apiKey)}`;
  if (sessionToken !== undefined) headers["x-session-token"] = carried("sessionToken", sessionToken);
  return headers;
}

/** Removes blanks and line ends around a credential, such as the line end of a file. @throws {TypeError} */
function carried(name: "apiKey" | "sessionToken", text: string): string {
  const value = text.trim();
  if (/[^!-~]/.test(value)) {
    throw new TypeError(`${name} contains a blank, a line break or another character that is not allowed`);
  }
  return value;
}

const pageSize = 100;

/** Reads a list page by page. `behind` returns the query of the page after the last entry (keyset pagination). */
async function* pages<Entry, Behind extends object>(
  read: (page: Partial<Behind> & { limit: number }) => Promise<Entry[]>,
  behind: (last: Entry) => Behind,
): AsyncGenerator<Entry, void> {
  for (let page: Partial<Behind> = {}; ;) {
    const entries = await read({ ...page, limit: pageSize });
    yield* entries;
    if (entries.length < pageSize) return;
    page = behind(entries.at(-1)!);
  }
}

/** Options of {@link Client.replayMatching}. */
export interface MatchingOptions {
  ratePerSecond?: number;
  /** Whether to include failed events whose replay is in progress or succeeded. */
  includeReplayed?: boolean;
  /** Gives each replay a new webhook-id, for receivers that must apply the events again. */
  webhookId?: "new";
}
