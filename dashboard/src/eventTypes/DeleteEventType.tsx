import { useMutation, useQueryClient } from "@tanstack/react-query";
import { answer, client } from "../api/client.ts";
import type { EventType } from "../api/shapes.ts";
import { ConfirmButton, DeletionCard } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { useUrlState } from "../shell/useUrlState.ts";

const consequence =
  "Targets that list it keep receiving its items. While the catalogue has other types, no target can add it.";

export function DeleteEventType({ type: { name } }: { type: EventType }) {
  const [, change] = useUrlState();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => answer(client.DELETE("/api/v1/event-types/{name}", { params: { path: { name } } })),
    onSuccess: ({ naming_targets: targets }) => {
      toast({ text: `${name} was deleted.${stillNamed(targets)}` });
      for (const list of ["list", "proposed"])
        void queries.invalidateQueries({ queryKey: ["eventTypes", list] });
    },
  });
  return (
    <DeletionCard consequence={consequence}>
      <ConfirmButton
        text="Delete this event type…"
        title={`Delete ${name}?`}
        action="Delete"
        doing={remove}
        onDone={() => change({ type: undefined }, "push")}
      >
        <p>{consequence} Its description, schema and example are gone.</p>
      </ConfirmButton>
    </DeletionCard>
  );
}

function stillNamed(targets: number): string {
  if (targets === 0) return "";
  return targets === 1
    ? " 1 target still lists it."
    : ` ${targets.toLocaleString("en")} targets still name it.`;
}
