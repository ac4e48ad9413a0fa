import type { ReactNode } from "react";

/** Fields and what sends them, by its button or by Enter. */
export function Form({
  onSubmit,
  children,
  className = "grid gap-4",
}: {
  onSubmit: () => void;
  children: ReactNode;
  className?: string;
}) {
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}
