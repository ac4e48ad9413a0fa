import { CodeArea, TextField } from "../controls/Field.tsx";
import { metadataProblem } from "./metadataText.ts";

/** A customer's fields, as texts of a form. */
export interface CustomerDraft {
  name: string;
  metadata: string;
}

interface CustomerFieldsProps {
  draft: CustomerDraft;
  onChange: (draft: CustomerDraft) => void;
}

export function CustomerFields({ draft, onChange }: CustomerFieldsProps) {
  return (
    <>
      <TextField
        label="Display name (optional)"
        value={draft.name}
        maxLength={256}
        autoComplete="off"
        hint="Shown on pages; the uid identifies the customer"
        onChange={(event) => onChange({ ...draft, name: event.target.value })}
      />
      <MetadataField value={draft.metadata} onChange={(metadata) => onChange({ ...draft, metadata })} />
    </>
  );
}

interface MetadataFieldProps {
  value: string;
  /** The service's error about this field. */
  error?: string | undefined;
  onChange: (value: string) => void;
}

/** Any JSON object of up to 4 KiB. */
export function MetadataField({ value, error, onChange }: MetadataFieldProps) {
  return (
    <CodeArea
      label="Metadata"
      value={value}
      error={metadataProblem(value) ?? error}
      hint="A JSON object of your own, up to 4 KiB; keep personal data out of it"
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
