import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { answer, client } from "../api/client.ts";
import { organizationQuery } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { Organization } from "../api/shapes.ts";
import { Checkbox } from "../controls/Checkbox.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";

/** A checkbox: whether admins can read signing secrets again. A click takes effect at once. */
export function RevealSwitch({ organization }: { organization: Organization }) {
  const mayChange = useMay("admin");
  const meaning = useId();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (isOn: boolean) =>
      answer(client.PATCH("/api/v1/orgs", { body: { secrets_can_be_revealed: isOn } })),
    onSuccess: (_updated, isOn) => {
      toast({ text: isOn ? "Admins can reveal signing secrets." : "Nobody can reveal signing secrets." });
      return queries.invalidateQueries({ queryKey: organizationQuery.queryKey });
    },
  });
  return (
    <div className="grid gap-2">
      <Checkbox
        text="Admins can reveal signing secrets"
        isChecked={change.isPending ? change.variables : organization.secrets_can_be_revealed}
        isDisabled={!mayChange}
        describedBy={meaning}
        onChange={(isOn) => {
          if (!change.isPending) change.mutate(isOn);
        }}
      />
      <p id={meaning} className="text-muted">
        Off: a secret is shown once, when it is created. On: admins can read it again on the target’s Secret
        tab, each time with an entry in the audit log. API keys and your customers’ portal cannot.
      </p>
      {change.isError && <ProblemCard error={change.error} />}
    </div>
  );
}
