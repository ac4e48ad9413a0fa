import { setImmediate } from "node:timers/promises";
import { usersAndKeys } from "../http/contract/access.ts";
import { orInvalid } from "../http/contract/errors.ts";
import { isJsonObject } from "../http/contract/json.ts";
import { routesOf } from "../http/contract/route.ts";
import { customerReads } from "../http/contract/scope.ts";
import { documentWith, readFilter } from "./filter.ts";
import { failedParts, matchFilter } from "./matchFilter.ts";
import { FilterResult, FilterTrial } from "./schemas.ts";
import examples from "./examples.json" with { type: "json" };

const route = routesOf<unknown>("Targets");

export const filterRoute = route("tryFilter", "POST /api/v1/filters/try", {
  access: usersAndKeys("viewer", customerReads("own")),
  audit: { none: "the request changes nothing" },
  summary: "Try a filter on a sample",
  description:
    "Says whether an item like the sample would pass the filter, and which parts of the filter did not match.",
  body: FilterTrial,
  response: { 200: FilterResult },
  examples: examples.tryFilter,
  async handle({ body: { filter, payload, ...metadata } }) {
    const { pattern } = orInvalid(readFilter(filter));
    const document = documentWith(payload, {
      event_type: eventTypeIn(payload) ?? metadata.event_type ?? null,
      correlation_id: metadata.correlation_id ?? null,
      ordering_key: metadata.ordering_key ?? null,
    });
    const verdict = matchFilter(pattern, document);
    if (verdict !== "differs") return { verdict, failed: [] };
    // Each of the two calls may take some milliseconds, so other requests get a turn in between.
    await setImmediate();
    return { verdict, failed: failedParts(pattern, document) };
  },
});

/** The event type in a payload. As in intake, it takes precedence over the header's. */
function eventTypeIn(payload: unknown): string | undefined {
  const type = isJsonObject(payload) ? payload["event_type"] : undefined;
  return typeof type === "string" ? type : undefined;
}
