import { useId, useState } from "react";
import { TextField } from "../controls/Field.tsx";
import { uidInput } from "../customers/customerQueries.ts";
import { ProposedCustomers } from "../customers/ProposedCustomers.tsx";

/** The optional texts of a new target. */
export interface OwnInputs {
  customerUid: string;
  uid: string;
  secret: string;
}

interface OwnFieldsProps {
  own: OwnInputs;
  takesSecret: boolean;
  errorOf: (name: string) => string | undefined;
  onChange: (own: OwnInputs) => void;
}

/** Optional fields of a new target: its customer, its uid, and a signing secret that the receiver already has. */
export function OwnFields({ own, takesSecret, errorOf, onChange }: OwnFieldsProps) {
  const [isOpen, setOpen] = useState(own.customerUid !== "");
  const isRefused = ["customer_uid", "uid", "secret"].some((name) => errorOf(name) !== undefined);
  return (
    <details open={isOpen || isRefused} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="font-medium">Advanced</summary>
      {(isOpen || isRefused) && (
        <div className="mt-3 grid gap-4">
          <CustomerField
            value={own.customerUid}
            error={errorOf("customer_uid")}
            onChange={(customerUid) => onChange({ ...own, customerUid })}
          />
          <UidField value={own.uid} error={errorOf("uid")} onChange={(uid) => onChange({ ...own, uid })} />
          {takesSecret && (
            <TextField
              label="Signing secret"
              type="password"
              value={own.secret}
              maxLength={128}
              autoComplete="off"
              placeholder="whsec_…"
              hint="A secret that the receiver already has; empty: a new one is created"
              error={errorOf("secret")}
              onChange={(event) => onChange({ ...own, secret: event.target.value })}
            />
          )}
        </div>
      )}
    </details>
  );
}

interface UidProps {
  value: string;
  error: string | undefined;
  onChange: (uid: string) => void;
}

/** A field for the uid of a customer, which suggests uids that begin with the typed text. */
export function CustomerField({ value, error, onChange }: UidProps) {
  const listId = useId();
  return (
    <>
      <TextField
        label="Customer"
        value={value}
        {...uidInput}
        list={listId}
        hint="The customer's uid (optional)"
        error={error}
        onChange={(event) => onChange(event.target.value)}
      />
      <ProposedCustomers listId={listId} typed={value} />
    </>
  );
}

/** A field for the organization's own id of a target. */
export function UidField({ value, error, onChange }: UidProps) {
  return (
    <TextField
      label="Uid"
      value={value}
      {...uidInput}
      hint="Your own id of the target, unique in your organization (optional)"
      error={error}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
