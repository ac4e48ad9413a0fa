import { type ReactNode, useState } from "react";
import { Button } from "./Button.tsx";
import { Checkbox } from "./Checkbox.tsx";
import { CopyWithWords } from "./Copy.tsx";

interface ShownOnceProps {
  secret: string;
  /** The name of the button that goes on. */
  action: string;
  onDone: () => void;
  children?: ReactNode;
}

/** What cannot be read again: it goes on only after it was copied or declared saved. */
export function ShownOnce({ secret, action, onDone, children }: ShownOnceProps) {
  const [isSaved, setSaved] = useState(false);
  return (
    <>
      <div className="flex flex-wrap items-center gap-2 rounded-control border bg-sunken p-3">
        <code className="min-w-0 flex-1 break-all">{secret}</code>
        <CopyWithWords text={secret} name="Copy" onCopied={() => setSaved(true)} />
      </div>
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
