import { lazy, type ReactNode, Suspense } from "react";

export interface ModalProps {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  /** False keeps it open until its own buttons close it. */
  dismissible?: boolean;
  /** False when a click outside must not close it, because typed text would be lost. */
  closesOutside?: boolean;
  wide?: boolean;
}

const OpenModal = lazy(async () => ({ default: (await import("./OpenModal.tsx")).OpenModal }));
const OpenDrawer = lazy(async () => ({ default: (await import("./OpenModal.tsx")).OpenDrawer }));

/** A dialog in the middle of the page. It holds the focus, and gives it back when it closes. */
export function Modal({ open, ...props }: ModalProps) {
  if (!open) return null;
  return (
    <Suspense fallback={null}>
      <OpenModal {...props} />
    </Suspense>
  );
}

export interface DrawerProps {
  title: string;
  onClose: () => void;
  /** Controls beside the close button. */
  aside?: ReactNode;
  children: ReactNode;
}

/** A panel over the right edge of the page, which does not move. */
export function Drawer(props: DrawerProps) {
  return (
    <Suspense fallback={null}>
      <OpenDrawer {...props} />
    </Suspense>
  );
}
