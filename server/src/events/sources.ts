import { type Condition, conditionNames, type EventFilter, type IdStatement } from "./eventFilter.ts";
import { type MailboxFacts, mailboxPage, noFacts } from "./mailboxPage.ts";
import {
  correlationPage,
  customerPage,
  eventTypePage,
  handoffPage,
  organizationPage,
  replayPage,
  statusPage,
  targetPage,
} from "./pageStatement.ts";
import { type EventStatus, isMailboxStatus } from "../items/eventStatuses.ts";

/** A place that has the events of some of a filter's conditions in order. */
export interface Source {
  /** The conditions of the filter that all its events meet. */
  meets: readonly Condition[];
  /** The ids of a page of them, or of another range of the same filter. */
  page: (filter: EventFilter) => IdStatement;
  /** A page is merged from many targets, or sorted; of other sources an index has it in order. */
  isGathered?: boolean;
}

/**
 * The places that a filter's events can be found in. None is left out that could be the shortest way to them, and only
 * one is given when it alone has exactly the events in question.
 */
export function sourcesOf(filter: EventFilter, facts: MailboxFacts): Source[] {
  const { targetId, customerUid, status, correlationId, eventType, handoffState, replayId } = filter;
  const sources: Source[] = [];
  if (handoffState !== undefined) {
    sources.push({ meets: ["handoffState", "targetId"], page: (range) => handoffPage(range, handoffState) });
  }
  if (correlationId !== undefined) {
    sources.push({ meets: ["correlationId"], page: (range) => correlationPage(range, correlationId) });
  }
  if (replayId !== undefined) {
    sources.push({ meets: ["replayId"], page: (range) => replayPage(range, replayId) });
  }
  if (eventType !== undefined) {
    sources.push({ meets: ["eventType"], page: (range) => eventTypePage(range, eventType) });
  }
  if (customerUid !== undefined) {
    sources.push({
      meets: ["customerUid"],
      page: (range) => customerPage(range, customerUid),
      isGathered: true,
    });
  }
  // By a status or a state, fewer events of the target are found.
  if (targetId !== undefined && status === undefined && handoffState === undefined) {
    sources.push({ meets: ["targetId"], page: (range) => targetPage(range, targetId) });
  }
  // The last in each turn: a step of some statuses costs more than one of an index.
  if (status !== undefined) sources.push(statusSource(filter, status, facts));
  if (sources.length === 0) return [{ meets: [], page: organizationPage }];
  const whole = sources.find((source) => missingOf(source, filter).length === 0);
  return whole === undefined ? sources : [whole];
}

/** The conditions of a filter that remain to be looked up for each event of a source. */
export function missingOf({ meets }: Source, filter: EventFilter): Condition[] {
  return conditionNames.filter((name) => filter[name] !== undefined && !meets.includes(name));
}

function statusSource({ targetId }: EventFilter, status: EventStatus, facts: MailboxFacts): Source {
  const meets = ["status", "targetId"] as const;
  if (isMailboxStatus(status)) {
    const isSorted = status === "UNREAD" || status === "CLAIMED" || status === "DEAD";
    return {
      meets,
      page: (range) => mailboxPage(range, status, facts),
      isGathered: isSorted || targetId === undefined,
    };
  }
  const isWaiting = status === "QUEUED" || status === "RETRYING";
  return {
    meets,
    page: (range) => statusPage(range, status),
    isGathered: isWaiting && targetId === undefined,
  };
}

/** Skipping this many index entries takes a negligible time. */
const maxFreeOffset = 1_000;

/**
 * The concurrency limit that applies to a page: `searches` if events are walked until enough of them match, or if many are
 * skipped; `lists` if the page is merged or sorted; none if one index returns it in order.
 */
export function turnOf(filter: EventFilter): "lists" | "searches" | undefined {
  // All events of a target belong to the target's customer, so `customerUid` excludes none.
  const searched = filter.targetId === undefined ? filter : { ...filter, customerUid: undefined };
  const [source] = sourcesOf(searched, noFacts);
  if (missingOf(source!, searched).length > 0 || filter.offset > maxFreeOffset) return "searches";
  return source!.isGathered === true ? "lists" : undefined;
}
