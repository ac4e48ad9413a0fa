import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { targetName, targetsQuery } from "../api/queries.ts";
import type { NotificationTarget } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Checklist } from "../controls/Checkbox.tsx";
import { Form, Options, SelectField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { kindOf } from "../targets/kinds/kinds.ts";
import { useRemoval } from "./useRemoval.tsx";

type Told = NotificationTarget["event_types"][number];

const tellings: readonly (readonly [Told, string])[] = [
  ["target.disabled", "the service disabled a target"],
  ["target.recovered", "a target answers again"],
  ["event.failed", "items failed for good"],
  ["mailbox.message_dead", "messages became dead"],
  ["handoff.input_required", "an agent waits for an answer"],
];

const notificationsQuery = {
  queryKey: ["notificationTargets"],
  queryFn: async () =>
    (await answer(client.GET("/api/v1/notification-targets", { params: { query: { limit: 100 } } })))
      .notification_targets,
};

/** The targets that receive operational events. */
export function NotificationTargets() {
  const query = useQuery(notificationsQuery);
  const targets = useQuery(targetsQuery);
  return (
    <Card title="Notifications">
      <div className="grid grid-cols-1 gap-4">
        <p className="text-muted">
          A webhook or a mailbox of yours can be told when something needs attention. What it is told is not
          billed.
        </p>
        <Loaded query={query}>
          {(list) =>
            list.length === 0 ? (
              <p className="text-muted">No target gets operational events yet.</p>
            ) : (
              <ul className="grid grid-cols-1 gap-2">
                {list.map((one) => (
                  <Row key={one.id} one={one} name={targetName(targets.data, one.target_id)} />
                ))}
              </ul>
            )
          }
        </Loaded>
        <For least="member">
          <Add heard={(query.data ?? []).map(({ target_id: id }) => id)} />
        </For>
      </div>
    </Card>
  );
}

function Row({ one, name }: { one: NotificationTarget; name: string }) {
  const remove = useRemoval({
    queryKey: notificationsQuery.queryKey,
    remove: () =>
      answer(client.DELETE("/api/v1/notification-targets/{id}", { params: { path: { id: one.id } } })),
    told: `${name} no longer receives notifications.`,
  });
  return (
    <li className="flex flex-wrap items-center justify-between gap-2 rounded-control border px-3 py-2">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium">{name}</span>
        <span className="text-meta text-muted">
          {one.event_types.length === tellings.length ? "All events" : one.event_types.join(", ")}
        </span>
      </span>
      <For least="member">
        <Button
          look="quiet"
          busy={remove.isPending}
          aria-label={`Remove ${name}`}
          onClick={() => remove.mutate()}
        >
          Remove
        </Button>
      </For>
      {remove.isError && <ProblemCard error={remove.error} />}
    </li>
  );
}

function Add({ heard }: { heard: readonly string[] }) {
  const targets = useQuery(targetsQuery);
  const queries = useQueryClient();
  const [targetId, setTargetId] = useState("");
  const [types, setTypes] = useState<readonly Told[]>(tellings.map(([type]) => type));
  const add = useMutation({
    mutationFn: () =>
      answer(
        client.POST("/api/v1/notification-targets", {
          body: { target_id: targetId, event_types: [...types] },
        }),
      ),
    onSuccess: () => {
      setTargetId("");
      void queries.invalidateQueries({ queryKey: notificationsQuery.queryKey });
    },
  });
  const choices = (targets.data ?? [])
    .filter((target) => !kindOf(target).isHandoff && !heard.includes(target.id))
    .map(({ id, name }) => [id, name] as const);
  return (
    <Form className="grid gap-3" onSubmit={() => add.mutate()}>
      <SelectField
        label="Notification target"
        value={targetId}
        onChange={(event) => setTargetId(event.target.value)}
      >
        <option value="">choose a webhook or a mailbox</option>
        <Options of={choices} />
      </SelectField>
      {targetId !== "" && (
        <fieldset className="grid gap-1.5">
          <legend className="mb-1 font-medium">Notify when</legend>
          <Checklist of={tellings} chosen={types} onChange={setTypes} />
        </fieldset>
      )}
      {add.isError && <ProblemCard error={add.error} />}
      <div>
        <Button type="submit" busy={add.isPending} disabled={targetId === "" || types.length === 0}>
          Add
        </Button>
      </div>
    </Form>
  );
}
