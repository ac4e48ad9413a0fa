import type { ButtonHTMLAttributes, MouseEvent, ReactNode, Ref } from "react";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  /** Marks the button as busy and ignores clicks. */
  busy?: boolean;
  icon?: ReactNode;
  ref?: Ref<HTMLButtonElement>;
}

type Look = "primary" | "plain" | "quiet" | "danger";

const looks: Record<Look, string> = {
  primary: "bg-accent text-on-accent border-accent hover:brightness-110",
  plain: "bg-surface text-ink border-control hover:bg-sunken",
  quiet: "bg-transparent text-ink border-transparent hover:bg-sunken",
  danger: "bg-failed-bg text-failed border-failed hover:brightness-95 dark:hover:brightness-125",
};

export function Button({
  look = "plain",
  busy = false,
  icon,
  children,
  className = "",
  onClick,
  ...rest
}: ButtonProps) {
  function click(event: MouseEvent<HTMLButtonElement>): void {
    // A double click acts once: its second click may come before the button is drawn as busy, or just after the answer.
    if (busy || event.detail > 1) event.preventDefault();
    else onClick?.(event);
  }
  return (
    <button
      type="button"
      {...rest}
      // `aria-disabled` in place of `disabled`, which would take the focus away. `click` also stops Enter in a field, which
      // clicks the form's button.
      {...(busy && { "aria-disabled": true })}
      onClick={click}
      aria-busy={busy}
      className={`${buttonShape} ${looks[look]} ${className}`}
    >
      {icon}
      {children}
    </button>
  );
}

const buttonShape =
  "inline-flex h-8 shrink-0 items-center justify-center gap-1.5 rounded-control border px-3 text-body font-medium whitespace-nowrap disabled:opacity-60 aria-disabled:opacity-60";

/** Classes that make a link look like a button. */
export function buttonLook(look: Look = "plain"): string {
  return `${buttonShape} ${looks[look]}`;
}

/** A button with only an icon; screen readers read its name, and a tooltip shows it. */
export function IconButton({ name, children, className = "", ...rest }: ButtonProps & { name: string }) {
  return (
    <button
      type="button"
      aria-label={name}
      title={name}
      {...rest}
      className={`inline-flex size-8 shrink-0 items-center justify-center rounded-control text-muted hover:bg-sunken hover:text-ink disabled:opacity-60 ${className}`}
    >
      {children}
    </button>
  );
}
