import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { answer, client } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { ConfirmButton, DeletionCard } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { Unsaved } from "../shell/Unsaved.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { FilterFields } from "./FilterFields.tsx";
import { kindOf } from "./kinds/kinds.ts";
import { OwnSettings } from "./OwnSettings.tsx";
import { useSettingsForm } from "./useSettingsForm.ts";

/** Everything that can be changed about a target, and its deletion. */
export function TargetSettings({ target }: { target: Target }) {
  return (
    <div className="grid gap-4">
      <Card title="Settings">
        <SettingsForm target={target} />
      </Card>
      <For least="member">
        <DeleteTarget target={target} />
      </For>
    </div>
  );
}

function SettingsForm({ target }: { target: Target }) {
  const form = useSettingsForm(target);
  const { draft, patch, field, errorOf, filter, change, hasChanges, canSave, save } = form;
  const { Settings } = kindOf(target);
  const mayChange = useMay("member");
  return (
    <Form className="max-w-160" onSubmit={save}>
      <fieldset disabled={!mayChange} className="grid gap-3">
        <TextField label="Name" required maxLength={256} {...field("name")} />
        <TextField label="Description" maxLength={4096} {...field("description")} />
        <Settings target={target} form={form} />
        <FilterFields {...filter} />
        <OwnSettings draft={draft} errorOf={errorOf} onChange={patch} />
        {change.isError && <ProblemCard error={change.error} />}
        <Unsaved isUnsaved={hasChanges} />
        {mayChange && (
          <div>
            <Button type="submit" look="primary" busy={change.isPending} disabled={!canSave}>
              Save
            </Button>
          </div>
        )}
      </fieldset>
    </Form>
  );
}

function DeleteTarget({ target }: { target: Target }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const kind = kindOf(target);
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/targets/{id}", { params: { path: { id: target.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["targets"], exact: true });
      toast({ text: `${target.name} was deleted.` });
    },
  });
  return (
    <DeletionCard consequence="Waiting items are canceled. Past deliveries are kept.">
      <ConfirmButton
        text="Delete this target…"
        title={`Delete ${target.name}?`}
        action="Delete"
        typed={target.name}
        doing={remove}
        onDone={() => void navigate({ to: kind.pages.list, search: {}, ignoreBlocker: true })}
      >
        <p>{kind.words.deleted} Posting to it is refused from then on. This cannot be undone.</p>
      </ConfirmButton>
    </DeletionCard>
  );
}
