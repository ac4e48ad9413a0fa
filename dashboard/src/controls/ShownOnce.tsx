import { type ReactNode, useState } from "react";
import { Unsaved } from "../shell/Unsaved.tsx";
import { Button } from "./Button.tsx";
import { Checkbox } from "./Checkbox.tsx";
import { CopyWithWords } from "./Copy.tsx";

interface SecretTextProps {
  secret: string;
  /** The name of the button that copies it. */
  copy?: string;
  onCopied?: () => void;
}

/** A secret as text to select, with a way to copy it. */
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
  /** The name of the button that goes on. */
  action: string;
  onDone: () => void;
  /** Whether the page shows it again to who comes back. */
  isKept?: boolean;
  children?: ReactNode;
}

/** Shows what is not shown again by itself: the button goes on, and the page is left, only after it was copied or declared saved. */
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
