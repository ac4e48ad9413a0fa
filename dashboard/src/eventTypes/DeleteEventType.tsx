import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import type { EventType } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Confirm } from "../controls/Confirm.tsx";
import { toast } from "../controls/toasts.ts";

const consequence =
  "Targets that name it keep it, and go on getting such items; none can name it anew while there are other types.";

export function DeleteEventType({ type: { name } }: { type: EventType }) {
  const [asks, setAsks] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/event-types/{name}", { params: { path: { name } } })),
    onSuccess: ({ naming_targets: targets }) => {
      toast({ text: `${name} was deleted.${stillNamed(targets)}` });
      void queries.invalidateQueries({ queryKey: ["eventTypes", "list"] });
      void navigate({ to: "/event-types", search: {} });
    },
  });
  return (
    <Card title="Delete">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">{consequence}</p>
        <Button look="danger" onClick={() => setAsks(true)}>
          Delete this event type…
        </Button>
      </div>
      {asks && (
        <Confirm
          title={`Delete ${name}?`}
          onClose={() => setAsks(false)}
          action="Delete"
          doing={remove}
          onConfirm={() => remove.mutate()}
        >
          <p>{consequence} Its description, schema and example are gone.</p>
        </Confirm>
      )}
    </Card>
  );
}

function stillNamed(targets: number): string {
  if (targets === 0) return "";
  return targets === 1
    ? " 1 target still names it."
    : ` ${targets.toLocaleString("en")} targets still name it.`;
}
