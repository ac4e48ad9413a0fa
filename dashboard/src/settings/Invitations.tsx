import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { serviceUrl } from "../api/basePath.ts";
import { answer, client, given } from "../api/client.ts";
import type { Invitation, Role } from "../api/shapes.ts";
import { AwaitedOnce } from "../controls/AwaitedOnce.tsx";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { Form, Options, SelectField, TextField } from "../controls/Field.tsx";
import { Modal } from "../controls/Modal.tsx";
import { RowList } from "../controls/Rows.tsx";
import { ShownOnce } from "../controls/ShownOnce.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { NextPage, usePages } from "../states/PagedList.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Ago, Countdown } from "../time/Moment.tsx";
import { roleMeanings, roleOptions } from "./RoleChoice.tsx";
import { useRemoval } from "./useRemoval.tsx";

const queryKey = ["invitations"];
const shown = 100;

/** List of invitations, and a form to create one. The service sends no mail: the user passes the link on. */
export function Invitations() {
  const { query, rows } = usePages({
    queryKey,
    read: async (before, signal) => {
      const params = { query: given({ limit: shown, before }) };
      return (await answer(client.GET("/api/v1/invitations", { params, signal }))).invitations;
    },
    size: shown,
    cursorOf: ({ id }) => id,
  });
  return (
    <Card title="Invitations">
      <div className="grid grid-cols-1 gap-4">
        <Invite />
        <Loaded query={query}>
          {() => (
            <>
              <RowList of={rows} none={<p className="text-muted">No invitations yet.</p>}>
                {(invitation) => <Row invitation={invitation} />}
              </RowList>
              <NextPage query={query} />
            </>
          )}
        </Loaded>
      </div>
    </Card>
  );
}

function Invite() {
  const [email, setEmail] = useState("");
  const [role, setRole] = useState<Role>("member");
  const queries = useQueryClient();
  const invite = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/invitations", { body: { role, ...(email !== "" && { email }) } })),
    onSuccess: () => setEmail(""),
    // Also after an error: an invitation whose answer was lost is in the list.
    onSettled: () => void queries.invalidateQueries({ queryKey }),
  });
  const made = invite.data;
  return (
    <Form className="grid gap-3" onSubmit={() => invite.mutate()}>
      <div className="grid gap-3 md:grid-cols-2">
        <TextField
          label="Email"
          type="email"
          maxLength={256}
          autoComplete="off"
          hint="Optional; without it the link works for anyone who has it"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <SelectField
          label="Role"
          hint={roleMeanings[role].may}
          value={role}
          onChange={(event) => setRole(event.target.value as Role)}
        >
          <Options of={roleOptions} />
        </SelectField>
      </div>
      {invite.isError && <ProblemCard error={invite.error} />}
      <AwaitedOnce what="link" doing={invite} />
      <div>
        <Button type="submit" busy={invite.isPending}>
          Invite
        </Button>
      </div>
      <Modal
        title="Invitation link: shown only once"
        open={made !== undefined}
        dismissible={false}
        onClose={() => invite.reset()}
      >
        <p>Send this link yourself: no mail is sent. It works once, for seven days.</p>
        <ShownOnce
          secret={made?.url ?? `${serviceUrl}/join#${made?.token ?? ""}`}
          action="Done"
          onDone={() => invite.reset()}
        />
      </Modal>
    </Form>
  );
}

const stateNames = { OPEN: "open", ACCEPTED: "accepted", REVOKED: "revoked", EXPIRED: "expired" };

function Row({ invitation }: { invitation: Invitation }) {
  const revoke = useRemoval({
    queryKey,
    remove: () =>
      answer(client.DELETE("/api/v1/invitations/{id}", { params: { path: { id: invitation.id } } })),
    told: "The invitation was revoked.",
  });
  const whom = invitation.email ?? "whoever has the link";
  return (
    <li className="flex min-h-11 flex-wrap items-center gap-x-3 gap-y-1 border-b py-2 last:border-0">
      <span className="min-w-0 flex-1 basis-40">
        <span className="block truncate font-medium">{whom}</span>
        <span className="text-meta text-muted">
          as {roleMeanings[invitation.role].name}, created <Ago at={invitation.created_at} />,{" "}
          {invitation.status === "OPEN" ? (
            <>
              open for <Countdown until={invitation.expires_at} ended="nothing" />
            </>
          ) : (
            stateNames[invitation.status]
          )}
        </span>
      </span>
      {invitation.status === "OPEN" && (
        <Button
          look="quiet"
          busy={revoke.isPending}
          aria-label={`Revoke the invitation of ${whom}`}
          onClick={() => revoke.mutate()}
        >
          Revoke
        </Button>
      )}
      {revoke.isError && <ProblemCard error={revoke.error} />}
    </li>
  );
}
