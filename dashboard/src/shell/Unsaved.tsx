import { useBlocker } from "@tanstack/react-router";
import { Button } from "../controls/Button.tsx";
import { Modal } from "../controls/Modal.tsx";

/** Asks before a page with unsaved changes is left; the browser asks in its own words where the tab is closed or reloaded. */
export function Unsaved({ isUnsaved }: { isUnsaved: boolean }) {
  const { status, proceed, reset } = useBlocker({
    // A session that ended leads to the sign-in at once: nothing could be saved any more.
    shouldBlockFn: ({ next }) => isUnsaved && next.pathname !== "/sign-in",
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  return (
    <Modal title="Discard unsaved changes?" open={status === "blocked"} onClose={() => reset?.()}>
      <p>The settings on this page were changed and not saved.</p>
      <div className="flex justify-end gap-2">
        <Button onClick={() => reset?.()}>Keep editing</Button>
        <Button look="danger" onClick={() => proceed?.()}>
          Discard
        </Button>
      </div>
    </Modal>
  );
}
