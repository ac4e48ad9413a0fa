import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ListedEventType } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { TextBlock } from "../controls/Copy.tsx";
import { DeprecatedPill } from "../eventTypes/DeprecatedPill.tsx";
import { eventTypeQuery } from "../eventTypes/eventTypeQueries.ts";
import { jsonText } from "../eventTypes/jsonText.ts";
import { Loaded } from "../states/Loaded.tsx";
import { NextPage } from "../states/PagedList.tsx";
import { useCatalogue } from "./portalQueries.ts";

/** The event types of the catalogue; nothing without a catalogue. */
export function EventTypes() {
  const { query, rows: types } = useCatalogue();
  if (types.length === 0) return null;
  return (
    <Card title="Event types" flush>
      <ul>
        {types.map((type) => (
          <Row key={type.name} type={type} />
        ))}
      </ul>
      <NextPage query={query} />
    </Card>
  );
}

function Row({ type }: { type: ListedEventType }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="border-b last:border-0">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="px-4 py-2.5 hover:bg-sunken">
          <code className="font-medium break-all">{type.name}</code>{" "}
          <span className="wrap-anywhere text-muted">{type.group}</span>{" "}
          {type.deprecated && <DeprecatedPill />}
        </summary>
        <div className="grid gap-3 px-4 pb-4">
          {type.description !== "" && <p className="wrap-anywhere whitespace-pre-wrap">{type.description}</p>}
          {isOpen && <EventTypeDetail name={type.name} />}
        </div>
      </details>
    </li>
  );
}

export function EventTypeDetail({ name }: { name: string }) {
  const query = useQuery({ ...eventTypeQuery(name), staleTime: 60_000 });
  return (
    <Loaded query={query}>
      {({ example, schema }) => (
        <>
          <Json title="Example" value={example} />
          <Json title="Schema" value={schema} />
        </>
      )}
    </Loaded>
  );
}

function Json({ title, value }: { title: string; value: unknown }) {
  const text = jsonText(value);
  if (text === "") return null;
  return (
    <div className="mt-2 grid gap-1 first:mt-0">
      <h3 className="font-medium">{title}</h3>
      <TextBlock name={title} text={text} />
    </div>
  );
}
