import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import type { EventType } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { Form } from "../controls/Form.tsx";
import { Modal } from "../controls/Modal.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import {
  draftOf,
  emptyDraft,
  type EventTypeDraft,
  EventTypeFields,
  inputOf,
  isDraftReady,
} from "./EventTypeFields.tsx";
import { isTypeName, putEventType, typeNameRule } from "./eventTypeQueries.ts";

/** Puts a type into the catalogue, and opens it. */
export function NewEventType({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [draft, setDraft] = useState<EventTypeDraft>(emptyDraft);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const make = useMutation({
    mutationFn: () => makeEventType(name, draft),
    onSuccess: (type) => {
      if (type === undefined) return;
      void queries.invalidateQueries({ queryKey: ["eventTypes"] });
      onClose();
      void navigate({ to: "/event-types", search: { type: name } });
    },
  });
  const isTaken = make.isSuccess && make.data === undefined;
  const isReady = isTypeName(name) && isDraftReady(draft);
  return (
    <Modal title="New event type" open wide onClose={onClose}>
      <Form
        onSubmit={() => {
          if (isReady) make.mutate();
        }}
      >
        <TextField
          label="Name"
          required
          maxLength={256}
          autoComplete="off"
          spellCheck={false}
          placeholder="order.paid"
          hint="As items carry it in event_type, for good"
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
              search={{ type: name }}
              onClick={onClose}
              className="text-accent underline"
            >
              Open it
            </Link>
          </p>
        )}
        <EventTypeFields draft={draft} onChange={setDraft} />
        {make.isError && <ProblemCard error={make.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Not now</Button>
          <Button type="submit" look="primary" busy={make.isPending} disabled={!isReady}>
            Make the event type
          </Button>
        </div>
      </Form>
    </Modal>
  );
}

function nameProblem(name: string, isTaken: boolean): string | undefined {
  if (name !== "" && !isTypeName(name)) return typeNameRule;
  return isTaken ? "There is a type of this name already" : undefined;
}

/**
 * Nothing where there is one of this name: the call that makes a type would change that one.
 *
 * @throws {Problem}
 */
async function makeEventType(name: string, draft: EventTypeDraft): Promise<EventType | undefined> {
  try {
    await answer(client.GET("/api/v1/event-types/{name}", { params: { path: { name } } }));
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
  }
  return putEventType(name, inputOf(draft));
}

/** Changes what is said of a type. Its name stays. */
export function EditEventType({ type, onClose }: { type: EventType; onClose: () => void }) {
  const [draft, setDraft] = useState<EventTypeDraft>(() => draftOf(type));
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: () => putEventType(type.name, inputOf(draft)),
    onSuccess: (saved) => {
      queries.setQueryData(["eventTypes", "one", type.name], saved);
      void queries.invalidateQueries({ queryKey: ["eventTypes"] });
      toast({ text: "Saved." });
      onClose();
    },
  });
  const isReady = isDraftReady(draft);
  return (
    <Modal title={`Edit ${type.name}`} open wide onClose={onClose}>
      <Form
        onSubmit={() => {
          if (isReady) save.mutate();
        }}
      >
        <EventTypeFields draft={draft} onChange={setDraft} />
        {save.isError && <ProblemCard error={save.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" look="primary" busy={save.isPending} disabled={!isReady}>
            Save
          </Button>
        </div>
      </Form>
    </Modal>
  );
}
