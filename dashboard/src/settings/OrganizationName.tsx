import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { organizationQuery } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { Organization } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Card, Facts } from "../controls/Card.tsx";
import { Id } from "../controls/Copy.tsx";
import { Form, TextField } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { toast } from "../controls/toasts.ts";
import { Loaded } from "../states/Loaded.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { RevealSwitch } from "./RevealSwitch.tsx";

/** The organization's name, and whether admins can reveal signing secrets. */
export function OrganizationName() {
  const query = useQuery(organizationQuery);
  return (
    <Card title="Organization">
      <Loaded query={query}>
        {(organization) => (
          <div className="grid gap-4">
            <NameForm organization={organization} />
            <RevealSwitch organization={organization} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function NameForm({ organization }: { organization: Organization }) {
  // A typed name stays, even if another user renames the organization meanwhile.
  const [typed, setTyped] = useState<string>();
  const name = typed ?? organization.name;
  const mayRename = useMay("admin");
  const queries = useQueryClient();
  const rename = useMutation({
    mutationFn: (sent: string) => answer(client.PATCH("/api/v1/orgs", { body: { name: sent.trim() } })),
    onSuccess: async (_renamed, sent) => {
      toast({ text: "Renamed." });
      await queries.invalidateQueries({ queryKey: ["organization"] });
      setTyped((now) => (now === sent ? undefined : now));
    },
  });
  return (
    <Form onSubmit={() => rename.mutate(name)}>
      <TextField
        label="Name"
        required
        disabled={!mayRename}
        maxLength={256}
        value={name}
        onChange={(event) => setTyped(event.target.value)}
      />
      <Facts facts={[["Id", <Id key="id" id={organization.id} />]]} />
      {rename.isError && <ProblemCard error={rename.error} />}
      <For least="admin">
        <div>
          <Button
            type="submit"
            busy={rename.isPending}
            disabled={name.trim() === "" || name === organization.name}
          >
            Rename
          </Button>
        </div>
      </For>
    </Form>
  );
}
