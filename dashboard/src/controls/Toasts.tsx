import { useToasts } from "./toasts.ts";

/**
 * The toasts, as a live region that screen readers read. While a dialog is open, the library of dialogs hides everything else
 * from them, except elements with `aria-live`.
 */
export function Toasts() {
  const toasts = useToasts();
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed right-4 bottom-4 z-50 grid gap-2"
    >
      {toasts.map(({ number, text, action }) => (
        <div
          key={number}
          data-toast={number}
          className="pointer-events-auto flex max-w-96 items-center gap-3 rounded-card bg-ink px-4 py-2.5 text-canvas shadow-overlay"
        >
          <span className="min-w-0 wrap-anywhere">{text}</span>
          {action && (
            <button type="button" className="font-semibold underline" onClick={action.run}>
              {action.name}
            </button>
          )}
        </div>
      ))}
    </div>
  );
}
