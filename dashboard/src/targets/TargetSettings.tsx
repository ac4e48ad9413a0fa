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
import { isTryout } from "../tryout/tryoutUrl.ts";
import { EventTypesField } from "./EventTypesField.tsx";
import { FilterFields } from "./FilterFields.tsx";
import { HeaderFields } from "./HeaderFields.tsx";
import { OwnSettings } from "./OwnSettings.tsx";
import { RetryAxis } from "./RetryAxis.tsx";
import { type Draft, problemOf } from "./settingsDraft.ts";
import { type SettingsField, useSettingsForm } from "./useSettingsForm.ts";

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
  const { draft, patch, field, errorOf, headers, filter, change, hasChanges, canSave, save } =
    useSettingsForm(target);
  const mayChange = useMay("member");
  return (
    <Form className="max-w-160" onSubmit={save}>
      <fieldset disabled={!mayChange} className="grid gap-3">
        <Fields target={target} draft={draft} field={field} />
        {target.kind === "webhook" && <HeaderFields {...headers} />}
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

interface FieldsProps {
  target: Target;
  draft: Draft;
  field: SettingsField;
}

function Fields({ target, draft, field }: FieldsProps) {
  const schedule = problemOf(draft);
  const hasSchedule = schedule.max_retries === undefined && schedule.retry_interval_seconds === undefined;
  return (
    <>
      <TextField label="Name" required maxLength={256} {...field("name")} />
      <TextField label="Description" maxLength={4096} {...field("description")} />
      {target.kind === "webhook" && !isTryout(target.url) && (
        <TextField label="URL" type="url" required {...field("url")} />
      )}
      {target.kind === "webhook" && <EventTypesField {...field("event_types")} />}
      {target.kind === "mailbox" ? (
        <TextField
          label="Maximum claims"
          inputMode="numeric"
          hint="A message claimed this often without an acknowledgement becomes a dead letter; empty: no limit"
          {...field("max_claims")}
        />
      ) : (
        <>
          <div className="grid gap-3 md:grid-cols-2">
            <TextField label="Retries" inputMode="numeric" {...field("max_retries")} />
            <TextField
              label="First retry after (seconds)"
              inputMode="numeric"
              {...field("retry_interval_seconds")}
            />
          </div>
          {hasSchedule && (
            <RetryAxis
              maxRetries={Number(draft.max_retries)}
              intervalSeconds={Number(draft.retry_interval_seconds)}
            />
          )}
          <RateLimits field={field} />
        </>
      )}
    </>
  );
}

/** The limits that the owner sets on deliveries to the receiver. */
function RateLimits({ field }: { field: SettingsField }) {
  return (
    <div className="grid gap-3 md:grid-cols-3">
      <TextField
        label="Rate limit (per second)"
        inputMode="decimal"
        hint="Empty: no limit"
        {...field("rate_limit_per_second")}
      />
      <TextField
        label="Burst"
        inputMode="numeric"
        hint="Deliveries at once after a pause; empty: a tenth of the rate"
        {...field("rate_limit_burst")}
      />
      <TextField
        label="Concurrency"
        inputMode="numeric"
        hint="Deliveries in flight at a time; empty: the service's default"
        {...field("max_concurrency")}
      />
    </div>
  );
}

function DeleteTarget({ target }: { target: Target }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/targets/{id}", { params: { path: { id: target.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["targets"], exact: true });
      toast({ text: `${target.name} was deleted.` });
      void navigate({
        to: target.kind === "mailbox" ? "/mailboxes" : "/targets",
        search: {},
        ignoreBlocker: true,
      });
    },
  });
  return (
    <DeletionCard consequence="What waits for it is canceled. What was delivered stays on record.">
      <ConfirmButton
        text="Delete this target…"
        title={`Delete ${target.name}?`}
        action="Delete"
        typed={target.name}
        doing={remove}
      >
        <p>
          {target.kind === "mailbox"
            ? "Messages that wait in it are gone for its consumers, claimed ones included."
            : "Items that wait for it, retries included, become CANCELED and are not sent."}{" "}
          Posting to it is refused from then on. This cannot be undone.
        </p>
      </ConfirmButton>
    </DeletionCard>
  );
}
