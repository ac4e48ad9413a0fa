import { Dialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { useRef, useState } from "react";
import { controls } from "../shell/focusOn.ts";
import { IconButton } from "./Button.tsx";
import type { DrawerProps, ModalProps } from "./Modal.tsx";

/**
 * Selector of a dialog's text fields. The first text field gets the focus when the dialog opens; without one, the first
 * control.
 */
const typedInto = ":is(input:not([type=radio], [type=checkbox]), textarea):enabled:read-write";

/** The opened dialog. Its code is loaded when the first dialog opens. */
export function OpenModal({
  title,
  onClose,
  children,
  dismissible = true,
  closesOutside = true,
  wide = false,
}: Omit<ModalProps, "open">) {
  const popup = useRef<HTMLDivElement>(null);
  const finalFocus = useFinalFocus();
  return (
    <Dialog.Root
      open
      disablePointerDismissal={!closesOutside}
      onOpenChange={(next) => (next || !dismissible ? undefined : onClose())}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_13_17/0.5)]" />
        <Dialog.Popup
          ref={popup}
          data-over-page
          // After a touch, a focused field would open the on-screen keyboard, which hides the dialog's text.
          initialFocus={(by) =>
            by === "touch" || (popup.current?.querySelector<HTMLElement>(typedInto) ?? true)
          }
          finalFocus={finalFocus}
          className={`fixed top-1/2 left-1/2 z-40 grid max-h-[calc(100dvh-32px)] w-[calc(100vw-32px)] -translate-x-1/2 -translate-y-1/2 grid-cols-1 gap-4 overflow-y-auto rounded-card bg-surface p-6 shadow-overlay ${wide ? "max-w-180" : "max-w-120"}`}
        >
          <div className="flex items-start justify-between gap-4">
            <Dialog.Title className="min-w-0 text-section font-semibold wrap-anywhere">{title}</Dialog.Title>
            {dismissible && (
              <IconButton name="Close" onClick={onClose} className="-mt-1 -mr-2">
                <X size={16} aria-hidden />
              </IconButton>
            )}
          </div>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The opened drawer. */
export function OpenDrawer({ title, onClose, aside, children }: DrawerProps) {
  const finalFocus = useFinalFocus();
  return (
    <Dialog.Root open onOpenChange={(next) => (next ? undefined : onClose())} modal="trap-focus">
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-30 bg-[rgb(10_13_17/0.3)]" />
        <Dialog.Popup
          initialFocus={false}
          finalFocus={finalFocus}
          className="fixed inset-y-0 right-0 z-30 flex w-full max-w-160 flex-col bg-surface shadow-overlay"
        >
          <Dialog.Title className="sr-only">{title}</Dialog.Title>
          <div className="flex h-13 shrink-0 items-center justify-between border-b px-4">
            <span className="font-medium">{title}</span>
            <div className="flex">
              {aside}
              <IconButton name="Close" onClick={onClose}>
                <X size={16} aria-hidden />
              </IconButton>
            </div>
          </div>
          <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/**
 * Whether the library returns the focus when a dialog closes: only to a control. If a key opened the dialog without a focused
 * control, `keepFocus.ts` focuses the page; the library would focus the page's first control, such as a filter, which would
 * take the next key as text.
 */
function useFinalFocus(): () => boolean {
  const [opener] = useState(() => document.activeElement);
  return () => opener?.matches(controls) === true;
}
