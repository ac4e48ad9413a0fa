import { useQuery } from "@tanstack/react-query";
import { targetsQuery } from "../api/queries.ts";
import type { ApiKey } from "../api/shapes.ts";
import { Checklist } from "../controls/Checkbox.tsx";
import { Options, SelectField, TextField } from "../controls/Field.tsx";
import { isUid, uidRule } from "../customers/customerQueries.ts";
import { Loaded } from "../states/Loaded.tsx";
import { kindOf } from "../targets/kinds/kinds.ts";

/** The chosen scope of a key. */
export interface ScopeDraft {
  scope: NonNullable<ApiKey["scope"]> | "";
  customerUid: string;
  mailboxIds: readonly string[];
}

export const unlimited: ScopeDraft = { scope: "", customerUid: "", mailboxIds: [] };

const meanings: Record<ScopeDraft["scope"], string> = {
  "": "Full access",
  send: "Send items and publications",
  read: "Read",
  consume: "Consume selected mailboxes",
  customer: "One customer",
};

/** Whether every required field is filled in. */
export function isWhole({ scope, customerUid, mailboxIds }: ScopeDraft): boolean {
  if (scope === "customer") return isUid(customerUid);
  return scope !== "consume" || mailboxIds.length > 0;
}

/** The fields of the request that set the scope. */
export function scopeFields({ scope, customerUid, mailboxIds }: ScopeDraft) {
  return {
    ...(scope !== "" && { scope }),
    ...(scope === "customer" && { customer_uid: customerUid }),
    ...(scope === "consume" && { mailbox_ids: [...mailboxIds] }),
  };
}

/** A short description of a key's limit; undefined for a key without one. */
export function scopeText({ scope, customer_uid: uid, mailbox_ids: ids }: ApiKey): string | undefined {
  switch (scope) {
    case undefined:
      return undefined;
    case "send":
      return "send only";
    case "read":
      return "read only";
    case "consume":
      return ids?.length === 1 ? "one mailbox only" : `${ids?.length ?? 0} mailboxes only`;
    case "customer":
      return `customer ${uid ?? ""} only`;
  }
}

export function ScopeFields({
  draft,
  onChange,
}: {
  draft: ScopeDraft;
  onChange: (draft: ScopeDraft) => void;
}) {
  const set = (changes: Partial<ScopeDraft>): void => onChange({ ...draft, ...changes });
  const isBadUid = draft.customerUid !== "" && !isUid(draft.customerUid);
  return (
    <>
      <SelectField
        label="Access"
        hint="Cannot be changed later; create another key instead"
        value={draft.scope}
        onChange={(event) => set({ scope: event.target.value as ScopeDraft["scope"] })}
      >
        <Options of={Object.entries(meanings)} />
      </SelectField>
      {draft.scope === "customer" && (
        <TextField
          label="Customer"
          required
          hint="The customer's uid; the key is deleted with the customer"
          error={isBadUid ? `A uid is ${uidRule}` : undefined}
          value={draft.customerUid}
          onChange={(event) => set({ customerUid: event.target.value })}
        />
      )}
      {draft.scope === "consume" && (
        <MailboxChoice chosen={draft.mailboxIds} onChange={(mailboxIds) => set({ mailboxIds })} />
      )}
    </>
  );
}

function MailboxChoice({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (ids: readonly string[]) => void;
}) {
  const query = useQuery(targetsQuery);
  return (
    <fieldset className="grid max-h-48 gap-1 overflow-y-auto">
      <legend className="text-body font-medium">Mailboxes</legend>
      <Loaded query={query}>
        {(targets) => {
          const mailboxes = targets.filter((target) => kindOf(target).isPulled);
          if (mailboxes.length === 0) return <p className="text-muted">There are no mailboxes yet.</p>;
          return (
            <Checklist
              of={mailboxes.map(({ id, name }) => [id, name] as const)}
              chosen={chosen}
              onChange={onChange}
            />
          );
        }}
      </Loaded>
    </fieldset>
  );
}
