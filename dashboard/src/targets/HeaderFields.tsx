import { Plus, X } from "lucide-react";
import { Button, IconButton } from "../controls/Button.tsx";
import { TextField } from "../controls/Field.tsx";
import { type HeaderDraft, keptValue, mostHeaders, newHeader } from "./headersDraft.ts";

interface HeaderFieldsProps {
  headers: readonly HeaderDraft[];
  error: string | undefined;
  onChange: (headers: readonly HeaderDraft[]) => void;
}

/** The headers that a target's deliveries carry in addition to the service's own. Secret values are never sent to the page. */
export function HeaderFields({ headers, error, onChange }: HeaderFieldsProps) {
  return (
    <fieldset className="grid gap-2">
      <legend className="mb-1 font-medium">Custom headers</legend>
      {headers.map((header, index) => (
        <HeaderRow
          key={header.key}
          header={header}
          number={index + 1}
          onChange={(next) => onChange(headers.map((other) => (other === header ? next : other)))}
          onRemove={() => onChange(headers.filter((other) => other !== header))}
        />
      ))}
      {error !== undefined && (
        <p role="alert" className="text-meta text-failed">
          {error}
        </p>
      )}
      <div>
        <Button
          icon={<Plus size={14} aria-hidden />}
          disabled={headers.length >= mostHeaders}
          onClick={() => onChange([...headers, newHeader(headers)])}
        >
          Add a header
        </Button>
      </div>
    </fieldset>
  );
}

interface HeaderRowProps {
  header: HeaderDraft;
  number: number;
  onChange: (header: HeaderDraft) => void;
  onRemove: () => void;
}

function HeaderRow({ header, number, onChange, onRemove }: HeaderRowProps) {
  const isKept = header.value === keptValue;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-2 max-md:rounded-control max-md:border max-md:p-2 md:grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto_auto]">
      <TextField
        label={`Header ${number}`}
        value={header.name}
        autoComplete="off"
        onChange={(event) => onChange({ ...header, name: event.target.value })}
      />
      <div className="max-md:order-3">
        <TextField
          label={`Value ${number}`}
          type={header.isSecret ? "password" : "text"}
          autoComplete="off"
          value={isKept ? "" : header.value}
          placeholder={isKept ? "unchanged" : ""}
          onChange={(event) => onChange({ ...header, value: event.target.value })}
        />
      </div>
      <label className="mt-8 flex items-center gap-2 max-md:order-4">
        <input
          type="checkbox"
          className="size-4 accent-accent"
          checked={header.isSecret}
          // A stored secret cannot be shown, so its value must be typed again.
          onChange={(event) =>
            onChange({ ...header, isSecret: event.target.checked, value: isKept ? "" : header.value })
          }
        />
        Secret
      </label>
      <IconButton
        name={`Remove ${header.name || `header ${number}`}`}
        className="mt-6.5 max-md:justify-self-end"
        onClick={onRemove}
      >
        <X size={16} aria-hidden />
      </IconButton>
    </div>
  );
}
