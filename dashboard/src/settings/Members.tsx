import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { answer, client, given } from "../api/client.ts";
import { meQuery, useMay } from "../api/role.ts";
import type { Member, Role } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { RowList } from "../controls/Rows.tsx";
import { toast } from "../controls/toasts.ts";
import { useRefreshMs } from "../live/liveState.ts";
import { PagedList, usePages } from "../states/PagedList.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Ago } from "../time/Moment.tsx";
import { ConfirmRemoval } from "./useRemoval.tsx";
import { Invitations } from "./Invitations.tsx";
import { RoleChoice, roleMeanings } from "./RoleChoice.tsx";

const page = 100;

/** Members of the organization with their roles, and invitations. */
export function Members() {
  const isAdmin = useMay("admin");
  const { query, rows: members } = usePages({
    queryKey: ["members"],
    read: readMembers,
    size: page,
    cursorOf: ({ id }) => id,
    refreshMs: useRefreshMs(15_000, 15_000),
  });
  return (
    <div className="grid grid-cols-1 gap-4">
      <section aria-label="Members">
        <PagedList query={query} isEmpty={members.length === 0} empty={null}>
          <RowList of={members}>{(member) => <Row member={member} isAdmin={isAdmin} />}</RowList>
        </PagedList>
      </section>
      {isAdmin && <Invitations />}
    </div>
  );
}

/** @throws {Problem} */
async function readMembers(after: string | undefined, signal: AbortSignal): Promise<Member[]> {
  const query = given({ limit: page, after });
  return (await answer(client.GET("/api/v1/members", { params: { query }, signal }))).members;
}

function Row({ member, isAdmin }: { member: Member; isAdmin: boolean }) {
  const me = useQuery(meQuery);
  const queries = useQueryClient();
  const [isRemoving, setRemoving] = useState(false);
  const field = useRef<HTMLSelectElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // A role is first chosen, then saved by a button, because arrow keys select every role on their way.
  const [choice, setChoice] = useState<Role>();
  const chosen = choice ?? member.role;
  const change = useMutation({
    mutationFn: (role: Role) =>
      answer(client.PATCH("/api/v1/members/{id}", { params: { path: { id: member.id } }, body: { role } })),
    onSuccess: async ({ role }) => {
      toast({ text: `${member.email} now has the role ${roleMeanings[role].name}.` });
      // The button that had the focus goes away with the answer.
      if (document.activeElement === button.current) field.current?.focus();
      void queries.invalidateQueries({ queryKey: ["me"] });
      await queries.invalidateQueries({ queryKey: ["members"] });
      // A role that was chosen meanwhile stays chosen.
      setChoice((now) => (now === role ? undefined : now));
    },
  });
  const isMe = me.data?.user !== undefined && "id" in me.data.user && me.data.user.id === member.id;
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b px-4 py-2 last:border-0">
      <span className="min-w-0 flex-1 basis-60">
        <span className="block truncate font-medium">
          {member.name}
          {isMe && <span className="text-muted"> (you)</span>}
        </span>
        <span className="block truncate text-meta text-muted">
          {member.email},{" "}
          {member.last_login_at === null ? (
            "not signed in"
          ) : (
            <>
              signed in <Ago at={member.last_login_at} />
            </>
          )}
        </span>
      </span>
      {isAdmin ? (
        <>
          <RoleChoice label={`Role of ${member.email}`} field={field} role={chosen} onChange={setChoice} />
          {chosen !== member.role && (
            <Button
              ref={button}
              look="primary"
              busy={change.isPending}
              aria-label={`Change the role of ${member.email} to ${roleMeanings[chosen].name}`}
              onClick={() => change.mutate(chosen)}
            >
              Change
            </Button>
          )}
          <Button look="quiet" aria-label={`Remove ${member.email}`} onClick={() => setRemoving(true)}>
            Remove…
          </Button>
        </>
      ) : (
        <span>{roleMeanings[member.role].name}</span>
      )}
      {change.isError && <ProblemCard error={change.error} />}
      {isRemoving && <RemoveMember member={member} onClose={() => setRemoving(false)} />}
    </li>
  );
}

function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const { id, name, email } = member;
  const remove = () => answer(client.DELETE("/api/v1/members/{id}", { params: { path: { id } } }));
  const removal = { queryKey: ["members"], remove, told: `${email} was removed.` };
  return (
    <ConfirmRemoval
      title={`Remove ${name}?`}
      onClose={onClose}
      action="Remove"
      typed={email}
      removal={removal}
    >
      <p>
        Their sessions end at once, and their open invitations are revoked. API keys belong to the
        organization and stay: revoke those that they know.
      </p>
    </ConfirmRemoval>
  );
}
