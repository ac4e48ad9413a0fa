import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Problem } from "../api/problem.ts";
import { useMay } from "../api/role.ts";
import type { Target, TargetChanges } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { ConfirmButton, DeletionCard } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { isTryout } from "../tryout/tryoutUrl.ts";
import { EventTypesField } from "./EventTypesField.tsx";
import { FilterFields } from "./FilterFields.tsx";
import { HeaderFields } from "./HeaderFields.tsx";
import { OwnSettings } from "./OwnSettings.tsx";
import { RetryAxis } from "./RetryAxis.tsx";
import { headersChange, headersOf, headersProblem } from "./headersDraft.ts";
import { type Draft, draftOf, problemOf, toChanges } from "./settingsDraft.ts";
import { useTargetChange } from "./useTargetChange.ts";

/** Everything that can be changed about a target, and its deletion. */
export function TargetSettings({ target }: { target: Target }) {
  return (
    <div className="grid gap-4">
      <Card title="Settings">
        <SettingsForm key={target.updated_at} target={target} />
      </Card>
      <For least="member">
        <DeleteTarget target={target} />
      </For>
    </div>
  );
}

function SettingsForm({ target }: { target: Target }) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(target));
  const [headers, setHeaders] = useState(() => headersOf(target));
  const mayChange = useMay("member");
  const change = useTargetChange(target.id);
  const changes: TargetChanges = { ...toChanges(target, draft), ...headersChange(target, headers) };
  const hasChanges = Object.keys(changes).length > 0;
  const wrong = problemOf(draft);
  const wrongHeaders = headersProblem(headers);
  const field: Field = (name) => ({
    value: draft[name],
    error: wrong[name] ?? refusalOf(change.error, name),
    onChange: (event) => setDraft({ ...draft, [name]: event.target.value }),
  });
  return (
    <Form
      className="max-w-160"
      onSubmit={() => {
        if (hasChanges) change.mutate(changes, { onSuccess: () => toast({ text: "Saved." }) });
      }}
    >
      <fieldset disabled={!mayChange} className="grid gap-3">
        <Fields target={target} draft={draft} field={field} hasSchedule={!hasWrongSchedule(wrong)} />
        {target.kind === "webhook" && (
          <HeaderFields
            headers={headers}
            error={wrongHeaders ?? refusalOf(change.error, "headers")}
            onChange={setHeaders}
          />
        )}
        <FilterFields
          value={draft.filter}
          error={wrong.filter ?? refusalOf(change.error, "filter")}
          onChange={(filter) => setDraft({ ...draft, filter })}
        />
        <OwnSettings
          draft={draft}
          errorOf={(name) => wrong[name] ?? refusalOf(change.error, name)}
          onChange={(changes) => setDraft({ ...draft, ...changes })}
        />
        {change.isError && <ProblemCard error={change.error} />}
        {mayChange && (
          <div>
            <Button
              type="submit"
              look="primary"
              busy={change.isPending}
              disabled={!hasChanges || wrongHeaders !== undefined || Object.keys(wrong).length > 0}
            >
              Save
            </Button>
          </div>
        )}
      </fieldset>
    </Form>
  );
}

function hasWrongSchedule(wrong: Partial<Draft>): boolean {
  return wrong.max_retries !== undefined || wrong.retry_interval_seconds !== undefined;
}

interface FieldsProps {
  target: Target;
  draft: Draft;
  field: Field;
  hasSchedule: boolean;
}

function Fields({ target, draft, field, hasSchedule }: FieldsProps) {
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
          label="Most claims of a message"
          inputMode="numeric"
          hint="After these it is dead; empty for any number"
          {...field("max_claims")}
        />
      ) : (
        <>
          <div className="grid gap-3 md:grid-cols-2">
            <TextField label="Retries" inputMode="numeric" {...field("max_retries")} />
            <TextField label="First wait, seconds" inputMode="numeric" {...field("retry_interval_seconds")} />
          </div>
          {hasSchedule && (
            <RetryAxis
              maxRetries={Number(draft.max_retries)}
              intervalSeconds={Number(draft.retry_interval_seconds)}
            />
          )}
          <Pace field={field} />
        </>
      )}
    </>
  );
}

type Field = (name: keyof Draft) => {
  value: string;
  error: string | undefined;
  onChange: (event: { target: { value: string } }) => void;
};

/** How fast the receiver may be sent to. */
function Pace({ field }: { field: Field }) {
  return (
    <div className="grid gap-3 md:grid-cols-3">
      <TextField
        label="Most a second"
        inputMode="decimal"
        hint="Empty: as many as it takes"
        {...field("rate_limit_per_second")}
      />
      <TextField
        label="At once after a pause"
        inputMode="numeric"
        hint="Empty: a tenth of a second's worth"
        {...field("rate_limit_burst")}
      />
      <TextField
        label="Under way at a time"
        inputMode="numeric"
        hint="Empty: as the service is set"
        {...field("max_concurrency")}
      />
    </div>
  );
}

function refusalOf(error: unknown, name: string): string | undefined {
  if (!(error instanceof Problem) || (error.status !== 400 && error.code !== "uid_taken")) return undefined;
  return error.message.replace(/^body\//, "").startsWith(name) ? error.message : undefined;
}

function DeleteTarget({ target }: { target: Target }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/targets/{id}", { params: { path: { id: target.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["targets"], exact: true });
      toast({ text: `${target.name} was deleted.` });
      void navigate({ to: target.kind === "mailbox" ? "/mailboxes" : "/targets", search: {} });
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
