import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { EventType } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { CopyButton, Id, TextBlock } from "../controls/Copy.tsx";
import { For } from "../controls/For.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import type { Search } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { Moment } from "../time/Moment.tsx";
import { DeleteEventType } from "./DeleteEventType.tsx";
import { DeprecatedPill } from "./DeprecatedPill.tsx";
import { EditEventType } from "./EventTypeDialog.tsx";
import { eventTypeQuery } from "./eventTypeQueries.ts";
import { jsonText } from "./jsonText.ts";

/** One event type: its description, example and schema. */
export function EventTypeView({ name }: { name: string }) {
  const query = useQuery({ ...eventTypeQuery(name), refetchInterval: useRefreshMs(10_000, 15_000) });
  return (
    <Loaded query={query} title="Event type">
      {(type) => <Shown type={type} />}
    </Loaded>
  );
}

function Shown({ type }: { type: EventType }) {
  const [isEditing, setEditing] = useState(false);
  return (
    <div className="grid gap-4">
      <Link
        to="/event-types"
        search={(present: Search) => ({ ...present, type: undefined })}
        className="justify-self-start text-muted hover:text-ink"
      >
        ← All event types
      </Link>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="flex min-w-0 flex-wrap items-center gap-2">
          <h1 className="min-w-0 text-page font-semibold break-all">{type.name}</h1>
          <CopyButton text={type.name} name="Copy name" />
          {type.deprecated && <DeprecatedPill />}
        </div>
        <For least="member">
          <Button onClick={() => setEditing(true)}>Edit…</Button>
        </For>
      </div>
      <Card title="About">
        <Facts
          facts={[
            [
              "Description",
              <p key="description" className="wrap-anywhere whitespace-pre-wrap">
                {type.description || "none"}
              </p>,
            ],
            ["Group", type.group || "none"],
            ["Id", <Id key="id" id={type.id} />],
            ["Created", <Moment key="created" at={type.created_at} />],
            ["Updated", <Moment key="updated" at={type.updated_at} />],
            [
              "Items",
              <Link key="items" to="/items" search={{ type: type.name }} className="text-accent underline">
                Show items of this type
              </Link>,
            ],
          ]}
        />
      </Card>
      <Json title="Example" value={type.example} none="No example was given." />
      <Json title="Schema" value={type.schema} none="No JSON Schema was given." />
      <For least="member">
        <DeleteEventType type={type} />
      </For>
      {isEditing && <EditEventType type={type} onClose={() => setEditing(false)} />}
    </div>
  );
}

function Json({ title, value, none }: { title: string; value: unknown; none: string }) {
  const text = jsonText(value);
  return (
    <Card
      title={title}
      aside={text !== "" && <CopyButton text={text} name={`Copy ${title.toLowerCase()}`} />}
    >
      {text === "" ? <p className="text-muted">{none}</p> : <TextBlock name={title} text={text} />}
    </Card>
  );
}
