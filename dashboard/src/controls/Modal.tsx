import { lazy, type ReactNode, Suspense } from "react";

export interface ModalProps {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ReactNode;
  /** False keeps it open until its own buttons close it. */
  dismissible?: boolean;
  /** False where a click beside it does not close it: what was typed in it would be lost. */
  closesOutside?: boolean;
  wide?: boolean;
}

const OpenModal = lazy(async () => ({ default: (await import("./OpenModal.tsx")).OpenModal }));
const OpenDrawer = lazy(async () => ({ default: (await import("./OpenModal.tsx")).OpenDrawer }));

/** A dialog in the middle of the page: focus stays within, and goes back to where it was. */
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
  /** Controls beside the one that closes it. */
  aside?: ReactNode;
  children: ReactNode;
}

/** A panel at the right edge, over the page that stays where it was. */
export function Drawer(props: DrawerProps) {
  return (
    <Suspense fallback={null}>
      <OpenDrawer {...props} />
    </Suspense>
  );
}
