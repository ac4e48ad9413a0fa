import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { EventType } from "../api/shapes.ts";
import { differing } from "../controls/differing.ts";
import { TextField } from "../controls/Field.tsx";
import { EditDialog, FormDialog, unlessThere } from "../controls/FormDialog.tsx";
import { type Search, useUrlState } from "../shell/useUrlState.ts";
import {
  draftOf,
  emptyDraft,
  type EventTypeDraft,
  EventTypeFields,
  inputOf,
  isDraftReady,
} from "./EventTypeFields.tsx";
import { getEventType, isTypeName, putEventType, typeNameRule } from "./eventTypeQueries.ts";

/** Adds an event type to the catalogue, and opens its page. */
export function NewEventType({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<EventTypeDraft>(emptyDraft);
  const [, change] = useUrlState();
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () =>
      unlessThere(
        () => getEventType(name),
        () => putEventType(name, inputOf(draft)),
      ),
    onSuccess: (type) => {
      if (type === undefined) return;
      void queries.invalidateQueries({ queryKey: ["eventTypes"] });
    },
  });
  const open = (type: EventType | undefined): void => {
    if (type === undefined) return;
    onClose();
    change({ type: name }, "push");
  };
  const isTaken = make.isSuccess && make.data === undefined;
  const isReady = isTypeName(name) && isDraftReady(draft);
  return (
    <FormDialog
      title="New event type"
      wide
      onClose={onClose}
      action="Create event type"
      doing={make}
      isReady={isReady}
      onSubmit={() => make.mutate(undefined, { onSuccess: open })}
    >
      <TextField
        label="Name"
        required
        maxLength={256}
        autoComplete="off"
        spellCheck={false}
        placeholder="order.paid"
        hint="As in the event_type of items; cannot be changed later"
        error={nameProblem(name, isTaken)}
        value={name}
        onChange={(event) => {
          setName(event.target.value);
          make.reset();
        }}
      />
      {isTaken && (
        <p>
          <Link
            to="/event-types"
            search={(present: Search) => ({ ...present, type: name })}
            onClick={onClose}
            className="text-accent underline"
          >
            Open it
          </Link>
        </p>
      )}
      <EventTypeFields draft={draft} onChange={setDraft} />
    </FormDialog>
  );
}

function nameProblem(name: string, isTaken: boolean): string | undefined {
  if (name !== "" && !isTypeName(name)) return typeNameRule;
  return isTaken ? "An event type with this name exists already" : undefined;
}

/**
 * Edits an event type, except its name. Only fields that were changed here are overwritten: other users may have changed the
 * rest meanwhile.
 */
export function EditEventType({ type, onClose }: { type: EventType; onClose: () => void }) {
  const [opened] = useState(() => draftOf(type));
  const [draft, setDraft] = useState(opened);
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: async () => {
      const current = draftOf(await getEventType(type.name));
      return putEventType(type.name, inputOf({ ...current, ...differing(draft, opened) }));
    },
    onSuccess: (saved) => {
      queries.setQueryData(["eventTypes", "one", type.name], saved);
      void queries.invalidateQueries({ queryKey: ["eventTypes"] });
    },
  });
  return (
    <EditDialog title={`Edit ${type.name}`} wide onClose={onClose} doing={save} isReady={isDraftReady(draft)}>
      <EventTypeFields draft={draft} onChange={setDraft} />
    </EditDialog>
  );
}
