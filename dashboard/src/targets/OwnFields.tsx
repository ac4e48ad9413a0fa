import { useId, useState } from "react";
import { TextField } from "../controls/Field.tsx";
import { uidInput } from "../customers/customerQueries.ts";
import { ProposedCustomers } from "../customers/ProposedCustomers.tsx";

/** The organization's own names and notes of a target. */
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

/** To whom the target belongs, what it is called elsewhere, and a secret that its receiver knows: none has to be given. */
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

/** A customer by its uid, with those proposed that begin with what is typed. */
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

/** The organization's own id of a target. */
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
