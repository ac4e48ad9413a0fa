import type { InputHTMLAttributes, Ref } from "react";

interface FindInputProps extends InputHTMLAttributes<HTMLInputElement> {
  /** What it narrows, for who does not see it. */
  label: string;
  ref: Ref<HTMLInputElement>;
}

/** What a list is narrowed by as one types; the key / leads to it. */
export function FindInput({ label, className = "", ...rest }: FindInputProps) {
  return (
    <input
      aria-label={label}
      className={`h-9 rounded-control border border-control bg-surface px-2.5 ${className}`}
      {...rest}
    />
  );
}
