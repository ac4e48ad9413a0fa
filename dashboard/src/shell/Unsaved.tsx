import { useBlocker } from "@tanstack/react-router";
import { useEffect } from "react";
import { Button } from "../controls/Button.tsx";
import { Modal } from "../controls/Modal.tsx";
import { useTypedForm } from "../api/typedForms.ts";

interface UnsavedProps {
  isUnsaved: boolean;
  title?: string;
  /** Says what would be lost. */
  loss?: string;
  stay?: string;
  leave?: string;
}

/** Asks before a page with unsaved changes is left. If the tab is closed or reloaded, the browser asks in its own words. */
export function Unsaved({
  isUnsaved,
  title = "Discard unsaved changes?",
  loss = "The settings on this page were changed and not saved.",
  stay = "Keep editing",
  leave = "Discard",
}: UnsavedProps) {
  const { status, proceed, reset } = useBlocker({
    // The redirect to sign-in after the end of a session is not blocked: nothing could be saved any more.
    shouldBlockFn: ({ next }) => isUnsaved && next.pathname !== "/sign-in",
    enableBeforeUnload: () => isUnsaved,
    withResolver: true,
  });
  // Nothing is lost any more once a save that was in progress has ended.
  useEffect(() => {
    if (!isUnsaved) proceed?.();
  }, [isUnsaved, proceed]);
  // A question that is still open when this unmounts is answered with "stay"; otherwise the address would be the next page's.
  useEffect(() => (status === "blocked" ? reset : undefined), [status, reset]);
  const setTyped = useTypedForm();
  useEffect(() => {
    if (isUnsaved) setTyped();
  });
  return (
    <Modal title={title} open={status === "blocked"} onClose={() => reset?.()}>
      <p>{loss}</p>
      <div className="flex justify-end gap-2">
        <Button onClick={() => reset?.()}>{stay}</Button>
        <Button look="danger" onClick={() => proceed?.()}>
          {leave}
        </Button>
      </div>
    </Modal>
  );
}
