import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { Unsaved } from "../shell/Unsaved.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { EventTypeChoice } from "./EventTypeChoice.tsx";
import { FilterFields } from "../targets/FilterFields.tsx";
import { HeaderFields } from "../targets/HeaderFields.tsx";
import { useSettingsForm } from "../targets/useSettingsForm.ts";

/** The settings of an endpoint: URL, event types, headers and filter. */
export function EndpointSettings({ target }: { target: Target }) {
  return (
    <Card title="Settings">
      <SettingsForm target={target} />
    </Card>
  );
}

function SettingsForm({ target }: { target: Target }) {
  const { field, headers, filter, change, hasChanges, canSave, save } = useSettingsForm(target);
  return (
    <Form className="grid max-w-160 gap-4" onSubmit={save}>
      <TextField label="Name" required maxLength={256} {...field("name")} />
      <TextField label="URL" type="url" required {...field("url")} />
      <EventTypeChoice {...field("event_types")} />
      <HeaderFields {...headers} />
      <FilterFields {...filter} />
      {change.isError && <ProblemCard error={change.error} />}
      <Unsaved isUnsaved={hasChanges} />
      <div>
        <Button type="submit" look="primary" busy={change.isPending} disabled={!canSave}>
          Save
        </Button>
      </div>
    </Form>
  );
}
