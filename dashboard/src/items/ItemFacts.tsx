import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { targetName, targetsQuery } from "../api/queries.ts";
import type { ItemEvent } from "../api/shapes.ts";
import { Facts } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { kindNamed } from "../targets/kinds/kinds.ts";
import { Moment } from "../time/Moment.tsx";
import { StatusPill } from "./StatusPill.tsx";

/** The facts of an item beside its payload, with links to related pages. */
export function ItemFacts({ event }: { event: ItemEvent }) {
  const targets = useQuery(targetsQuery);
  const to = kindNamed(event.target_kind).pages.one;
  const facts: (readonly [string, ReactNode] | false)[] = [
    ["Id", <Id key="id" id={event.id} />],
    [
      "Target",
      <Link key="target" to={to} params={{ id: event.endpoint_id }} search={{}} className="underline">
        {targetName(targets.data, event.endpoint_id)}
      </Link>,
    ],
    ["Accepted", <Moment key="at" at={event.created_at} />],
    event.correlation_id !== null && [
      "Correlation",
      <Link
        key="correlation"
        to="/items"
        search={{ correlation: event.correlation_id }}
        className="break-all underline"
      >
        {event.correlation_id}
      </Link>,
    ],
    event.publication_id !== null && [
      "Publication",
      <ShortLink key="publication" to="/publications/$id" id={event.publication_id} />,
    ],
    event.source_event_id !== null && [
      "Replay of",
      <ShortLink key="source" to="/items/$id" id={event.source_event_id} />,
    ],
    event.replayed_by !== null && [
      "Replayed by",
      <span key="replayed-by" className="flex flex-wrap items-center gap-2">
        <ShortLink to="/items/$id" id={event.replayed_by.id} />
        <StatusPill status={event.replayed_by.status} />
        <Moment at={event.replayed_by.created_at} />
      </span>,
    ],
    event.webhook_id !== event.id && ["Webhook id", <Id key="webhook-id" id={event.webhook_id} />],
    event.replay_id !== null && [
      "Part of replay",
      <ShortLink key="replay" to="/replays/$id" id={event.replay_id} />,
    ],
    event.erased_at !== null && ["Erased", <Moment key="erased" at={event.erased_at} />],
  ];
  return <Facts facts={facts.filter((fact) => fact !== false)} />;
}

function ShortLink({ to, id }: { to: "/items/$id" | "/replays/$id" | "/publications/$id"; id: string }) {
  return (
    <Link to={to} params={{ id }} search={{}} className="underline">
      <code>{id.slice(0, 8)}…</code>
    </Link>
  );
}
