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

/** A list from its beginning to its end; `behind` says how the page behind an entry is asked for. */
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

/** How {@link Client.replayMatching} replays. */
export interface MatchingOptions {
  ratePerSecond?: number;
  /** Also the failures that have a replay which is under way or went through. */
  includeReplayed?: boolean;
  /** A webhook-id of its own for each replay, for receivers that must apply the events again. */
  webhookId?: "new";
}
