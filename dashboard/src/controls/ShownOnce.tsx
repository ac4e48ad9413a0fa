import { type ReactNode, useState } from "react";
import { Unsaved } from "../shell/Unsaved.tsx";
import { Button } from "./Button.tsx";
import { Checkbox } from "./Checkbox.tsx";
import { CopyWithWords } from "./Copy.tsx";

interface SecretTextProps {
  secret: string;
  /** The label of the copy button. */
  copy?: string;
  onCopied?: () => void;
}

/** A secret as selectable text with a copy button. */
export function SecretText({ secret, copy = "Copy", onCopied }: SecretTextProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 rounded-control border bg-sunken p-3">
      <code className="min-w-0 flex-1 break-all">{secret}</code>
      <CopyWithWords text={secret} name={copy} {...(onCopied && { onCopied })} />
    </div>
  );
}

interface ShownOnceProps {
  secret: string;
  /** The label of the button that calls `onDone`. */
  action: string;
  onDone: () => void;
  /** Whether the page shows the secret again when the user returns. */
  isKept?: boolean;
  children?: ReactNode;
}

/**
 * Shows a secret that is not shown again. The button is enabled once the user has copied the secret or ticked that it is
 * saved; leaving the page before that asks first.
 */
export function ShownOnce({ secret, action, onDone, isKept = false, children }: ShownOnceProps) {
  const [isSaved, setSaved] = useState(false);
  return (
    <>
      <Unsaved
        isUnsaved={!isSaved && !isKept}
        title="Leave without saving this?"
        loss="It is shown only once, and was neither copied nor marked as saved."
        stay="Stay"
        leave="Leave"
      />
      <SecretText secret={secret} onCopied={() => setSaved(true)} />
      {children}
      <Checkbox text="I saved it" isChecked={isSaved} onChange={setSaved} />
      <div>
        <Button look="primary" disabled={!isSaved} onClick={onDone}>
          {action}
        </Button>
      </div>
    </>
  );
}
