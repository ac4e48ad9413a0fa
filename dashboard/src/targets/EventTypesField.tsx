import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { TextField } from "../controls/Field.tsx";
import { isTypePrefix, listEventTypes } from "../eventTypes/eventTypeQueries.ts";

interface EventTypesFieldProps {
  value: string;
  error?: string | undefined;
  onChange: (event: { target: { value: string } }) => void;
}

const mostProposed = 50;

/** The event types of a target. The catalogue's types are suggested for the type that is being typed. */
export function EventTypesField({ value, error, onChange }: EventTypesFieldProps) {
  const listId = useId();
  const start = value.lastIndexOf(",") + 1;
  const typed = value.slice(start).trim();
  // Browsers offer only suggestions that contain the text of the field, so its spaces stay as they are.
  const before = value.slice(0, value.length - value.slice(start).trimStart().length);
  const proposed = useQuery({
    queryKey: ["eventTypes", "proposed", typed],
    queryFn: ({ signal }) =>
      listEventTypes({ prefix: typed === "" ? undefined : typed }, { limit: mostProposed, signal }),
    enabled: typed === "" || isTypePrefix(typed),
    placeholderData: (previous) => previous,
    staleTime: 30_000,
  });
  return (
    <>
      <TextField
        label="Event types"
        hint="Comma-separated; wildcards such as invoice.*; empty = all"
        autoComplete="off"
        spellCheck={false}
        list={listId}
        value={value}
        error={error}
        onChange={onChange}
      />
      <datalist id={listId}>
        {proposed.data?.map(({ name, description }) => (
          <option key={name} value={`${before}${name}`}>
            {description}
          </option>
        ))}
      </datalist>
    </>
  );
}
