import type { Static } from "typebox";
import { firstIdAt, isId } from "../postgres/ids.ts";
import { ApiError } from "../http/contract/errors.ts";
import type { EventFilter } from "./eventFilter.ts";
import { type EventQuery, type OptionalField, optionalFieldNames } from "./schemas.ts";
import type { EventScope } from "./store.ts";

type Query = Static<typeof EventQuery>;

/** Query parameters of a list as a filter; undefined when no event can match. @throws {ApiError} 400 for contradicting parameters. */
export function filterOf(
  query: Query,
  scope: EventScope & Pick<EventFilter, "customerUid">,
): EventFilter | undefined {
  const targetId = targetOf(query);
  if (targetId !== undefined && !isId(targetId)) return undefined;
  const customerUid = scope.customerUid ?? query.customer_uid;
  if (query.customer_uid !== undefined && query.customer_uid !== customerUid) return undefined;
  const { limit, offset, order, status, created_after: from, created_before: until } = query;
  return {
    ...scope,
    customerUid,
    targetId,
    status,
    correlationId: query.correlation_id,
    eventType: query.event_type,
    handoffState: query.handoff_state,
    replayId: query.replay_id,
    // No id is the first of its moment: the version stands behind it.
    above: last([query.after, from === undefined ? undefined : firstIdAt(from * 1000)]),
    below: first([query.before, until === undefined ? undefined : firstIdAt(until * 1000)]),
    order,
    limit,
    offset,
  };
}

/** The names in `fields`. @throws {ApiError} 400 for one that is not offered. */
export function readFields(text: string | undefined): ReadonlySet<OptionalField> {
  const names = text === undefined ? [] : text.split(",");
  for (const name of names) {
    if (!optionalFieldNames.some((known) => known === name)) {
      throw new ApiError(400, `fields takes ${optionalFieldNames.join(", ")}, with commas between`);
    }
  }
  return new Set(names as OptionalField[]);
}

function targetOf({ endpoint_id: endpointId, target_id: targetId }: Query): string | undefined {
  if (endpointId !== undefined && targetId !== undefined && endpointId !== targetId) {
    throw new ApiError(400, "endpoint_id and target_id are one filter: give one of them");
  }
  return targetId ?? endpointId;
}

function first(ids: (string | undefined)[]): string | undefined {
  return ids.filter((id) => id !== undefined).sort()[0];
}

function last(ids: (string | undefined)[]): string | undefined {
  return ids
    .filter((id) => id !== undefined)
    .sort()
    .at(-1);
}
