import { useState } from "react";
import type { ListedEventType } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Checkbox } from "../controls/Checkbox.tsx";
import { DeprecatedPill } from "../eventTypes/DeprecatedPill.tsx";
import { EventTypesField } from "../targets/EventTypesField.tsx";
import { eventTypesOf } from "../targets/eventTypesText.ts";
import { NextPage } from "../states/PagedList.tsx";
import { EventTypeDetail } from "./EventTypes.tsx";
import { useCatalogue } from "./portalQueries.ts";

interface EventTypeChoiceProps {
  /** Comma-separated event types; an empty text means all. */
  value: string;
  error?: string | undefined;
  onChange: (event: { target: { value: string } }) => void;
}

/** The event types of an endpoint: a checkbox for each type of the catalogue, and a field for patterns. */
export function EventTypeChoice({ value, error, onChange }: EventTypeChoiceProps) {
  const { query, rows: types } = useCatalogue();
  const chosen = eventTypesOf(value);
  const choose = (next: readonly string[]): void => onChange({ target: { value: next.join(", ") } });
  return (
    <>
      {types.length > 0 && (
        <fieldset className="grid gap-1">
          <legend className="mb-1 font-medium">Events to send</legend>
          <Checkbox text="All event types" isChecked={chosen.length === 0} onChange={() => choose([])} />
          <ul className="max-h-72 overflow-y-auto rounded-control border">
            {types.map((type) => (
              <TypeRow
                key={type.name}
                type={type}
                isChosen={chosen.includes(type.name)}
                onChange={(isChosen) =>
                  choose(isChosen ? [...chosen, type.name] : chosen.filter((name) => name !== type.name))
                }
              />
            ))}
          </ul>
          <NextPage query={query} />
        </fieldset>
      )}
      <EventTypesField value={value} error={error} onChange={onChange} />
    </>
  );
}

interface TypeRowProps {
  type: ListedEventType;
  isChosen: boolean;
  onChange: (isChosen: boolean) => void;
}

function TypeRow({ type, isChosen, onChange }: TypeRowProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li className="grid grid-cols-1 gap-1 border-b px-3 py-2 last:border-0">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="flex min-w-0 items-center gap-2 break-all">
          <Checkbox text={type.name} isChecked={isChosen} onChange={onChange} />
          {type.deprecated && <DeprecatedPill />}
        </span>
        <Button
          look="quiet"
          aria-label={`Example of ${type.name}`}
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          Example
        </Button>
      </div>
      {type.description !== "" && <p className="text-meta wrap-anywhere text-muted">{type.description}</p>}
      {isOpen && <EventTypeDetail name={type.name} />}
    </li>
  );
}
