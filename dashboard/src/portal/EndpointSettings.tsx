import { useState } from "react";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { EventTypesField } from "../targets/EventTypesField.tsx";
import { useTargetChange } from "../targets/useTargetChange.ts";
import { eventTypesOf } from "./eventTypesText.ts";

/** Where an endpoint is, and what it gets. */
export function EndpointSettings({ target }: { target: Target }) {
  const [typed, setTyped] = useState({
    name: target.name,
    url: target.url ?? "",
    types: (target.event_types ?? []).join(", "),
  });
  const change = useTargetChange(target.id);
  const field = (name: keyof typeof typed) => ({
    value: typed[name],
    onChange: (event: { target: { value: string } }) => setTyped({ ...typed, [name]: event.target.value }),
  });
  function save(): void {
    const { name, url, types } = typed;
    change.mutate(
      { name: name.trim(), url: url.trim(), event_types: eventTypesOf(types) },
      { onSuccess: () => toast({ text: "Saved." }) },
    );
  }
  return (
    <Card title="Settings">
      <Form onSubmit={save}>
        <TextField label="Name" required maxLength={256} {...field("name")} />
        <TextField label="URL" type="url" required {...field("url")} />
        <EventTypesField {...field("types")} />
        {change.isError && <ProblemCard error={change.error} />}
        <div>
          <Button type="submit" look="primary" busy={change.isPending}>
            Save
          </Button>
        </div>
      </Form>
    </Card>
  );
}
