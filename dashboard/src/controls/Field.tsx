import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from "react";

interface Around {
  label: string;
  hint?: ReactNode;
  /** What is wrong with the value, as a sentence; shown beside the field and read out with it. */
  error?: string | undefined;
}

const controlLook =
  "w-full rounded-control border border-control bg-surface px-2.5 text-form text-ink aria-invalid:border-failed";

export function TextField({ label, hint, error, ...rest }: Around & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <FieldFrame id={id} label={label} hint={hint} error={error}>
      <input
        id={id}
        className={`${controlLook} h-9`}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-hint`}
        {...rest}
      />
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
      <textarea
        id={id}
        rows={4}
        className={`${controlLook} py-2 ${className}`}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-hint`}
        {...rest}
      />
    </FieldFrame>
  );
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
      <select
        id={id}
        className={`${controlLook} h-9`}
        aria-invalid={error !== undefined}
        aria-describedby={`${id}-hint`}
        {...rest}
      >
        {children}
      </select>
    </FieldFrame>
  );
}

function FieldFrame({ id, label, hint, error, children }: Around & { id: string; children: ReactNode }) {
  return (
    <div className="grid content-start gap-1">
      <label htmlFor={id} className="text-body font-medium">
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
