import { Dialog } from "@base-ui/react/dialog";
import { Sidebar } from "./Sidebar.tsx";

/** The sidebar as a drawer, for windows that are too narrow to show it beside the page. */
export function MenuDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(open) => (open ? undefined : onClose())}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(10_13_17/0.5)]" />
        <Dialog.Popup data-over-page className="fixed inset-y-0 left-0 z-40 w-65 bg-surface shadow-overlay">
          <Dialog.Title className="sr-only">Pages</Dialog.Title>
          <Sidebar onGone={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
