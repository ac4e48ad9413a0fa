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

/** The organization: its name, and what its admins may do. */
export function OrganizationName() {
  const query = useQuery(organizationQuery);
  return (
    <Card title="Organization">
      <Loaded query={query}>
        {(organization) => (
          <div className="grid gap-4">
            <NameForm key={organization.name} organization={organization} />
            <RevealSwitch organization={organization} />
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function NameForm({ organization }: { organization: Organization }) {
  const [name, setName] = useState(organization.name);
  const mayRename = useMay("admin");
  const queries = useQueryClient();
  const rename = useMutation({
    mutationFn: () => answer(client.PATCH("/api/v1/orgs", { body: { name: name.trim() } })),
    onSuccess: () => {
      toast({ text: "Renamed." });
      void queries.invalidateQueries({ queryKey: ["organization"] });
    },
  });
  return (
    <Form onSubmit={() => rename.mutate()}>
      <TextField
        label="Name"
        required
        readOnly={!mayRename}
        maxLength={256}
        value={name}
        onChange={(event) => setName(event.target.value)}
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
