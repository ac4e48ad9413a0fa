import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from "react";
import { useTypedForm } from "../api/typedForms.ts";

interface Around {
  label: string;
  hint?: ReactNode;
  /** The error of the value as a sentence. It is shown beside the field, and screen readers read it with the field. */
  error?: string | undefined;
}

const controlLook =
  "w-full rounded-control border border-control bg-surface px-2.5 text-form text-ink disabled:bg-sunken aria-invalid:border-failed";

export function TextField({ label, hint, error, ...rest }: Around & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input {...controlOf(id, error)} className={`${controlLook} h-9`} {...rest} />
    </FieldFrame>
  );
}

export function TextArea({
  label,
  hint,
  error,
  className = "",
  ...rest
}: Around & React.TextareaHTMLAttributes<HTMLTextAreaElement>) {
  const id = useId();
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <textarea {...controlOf(id, error)} rows={4} className={`${controlLook} py-2 ${className}`} {...rest} />
    </FieldFrame>
  );
}

/** A text area for code, such as JSON. */
export function CodeArea(props: Omit<Parameters<typeof TextArea>[0], "className" | "spellCheck">) {
  return <TextArea {...props} spellCheck={false} className="font-mono" />;
}

export function SelectField({
  label,
  hint,
  error,
  children,
  ...rest
}: Around & SelectHTMLAttributes<HTMLSelectElement>) {
  const id = useId();
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <select {...controlOf(id, error)} className={`${controlLook} h-9`} {...rest}>
        {children}
      </select>
    </FieldFrame>
  );
}

/** Attributes that connect a control with its label and messages. */
function controlOf(id: string, error: string | undefined) {
  return { id, "aria-invalid": error !== undefined, "aria-describedby": `${id}-hint` };
}

/** The options of a select, with their labels. */
export function Options({ of }: { of: readonly (readonly [value: string, words: string])[] }) {
  return of.map(([value, words]) => (
    <option key={value} value={value}>
      {words}
    </option>
  ));
}

interface FilterFieldProps {
  label: string;
  value: string | undefined;
  /** The label of the option that filters nothing. */
  all: string;
  choices: readonly (readonly [value: string, words: string])[];
  onChange: (value: string | undefined) => void;
}

/** A select that filters a list by one of these values. */
export function FilterField({ label, value = "", all, choices, onChange }: FilterFieldProps) {
  return (
    <SelectField label={label} value={value} onChange={(event) => onChange(event.target.value || undefined)}>
      <option value="">{all}</option>
      <Options of={choices} />
    </SelectField>
  );
}

function FieldFrame({ id, label, hint, error, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="text-body font-medium wrap-anywhere">
        {label}
      </label>
      {children}
      <div id={`${id}-hint`} className="text-meta">
        {error !== undefined ? (
          <p role="alert" className="text-failed">
            {error}
          </p>
        ) : (
          hint !== undefined && <p className="text-muted">{hint}</p>
        )}
      </div>
    </div>
  );
}

type WebhookUrlFieldProps = Pick<Parameters<typeof TextField>[0], "value" | "onChange" | "error">;

/** The URL that a webhook's deliveries are sent to. */
export function WebhookUrlField(props: WebhookUrlFieldProps) {
  return <TextField label="URL" type="url" required placeholder="https://example.com/webhooks" {...props} />;
}

/** A form that its button or Enter submits. Input in its fields counts as unsaved. */
export function Form({
  onSubmit,
  onInput,
  children,
  className = "grid gap-4",
}: {
  onSubmit: () => void;
  /** Called when a field changes. */
  onInput?: () => void;
  children: ReactNode;
  className?: string;
}) {
  const setTyped = useTypedForm();
  return (
    <form
      className={className}
      onInput={() => {
        setTyped();
        onInput?.();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
