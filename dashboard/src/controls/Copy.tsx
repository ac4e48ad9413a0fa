import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { Button, IconButton } from "./Button.tsx";
import { copyText } from "./copyText.ts";
import { toast } from "./toasts.ts";

/** A button that copies `text`; `name` is its label, such as “Copy id”. */
export function CopyButton({ text, name, onCopied }: { text: string; name: string; onCopied?: () => void }) {
  const { isCopied, copy } = useCopy(text, onCopied);
  return (
    <IconButton name={name} onClick={copy} className="size-6">
      {isCopied ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />}
    </IconButton>
  );
}

export function CopyWithWords({
  text,
  name,
  onCopied,
}: {
  text: string;
  name: string;
  onCopied?: () => void;
}) {
  const { isCopied, copy } = useCopy(text, onCopied);
  const icon = isCopied ? <Check size={14} aria-hidden /> : <CopyIcon size={14} aria-hidden />;
  return (
    <Button onClick={copy} icon={icon}>
      {isCopied ? "Copied" : name}
    </Button>
  );
}

function useCopy(text: string, onCopied?: () => void) {
  const [isCopied, setCopied] = useState(false);
  async function copy(): Promise<void> {
    const done = await copyText(text);
    if (!done) {
      toast({ text: "The browser blocked copying. Select the text and copy it." });
      return;
    }
    onCopied?.();
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  }
  return { isCopied, copy: () => void copy() };
}

/** An id as selectable text with a copy button; `short` shows only its beginning and end. */
export function Id({ id, short = false }: { id: string; short?: boolean }) {
  return (
    <span className="inline-flex max-w-full items-center gap-1">
      <code className="min-w-0 text-meta break-all" title={id}>
        {short ? `${id.slice(0, 8)}…${id.slice(-4)}` : id}
      </code>
      <CopyButton text={id} name="Copy id" />
    </span>
  );
}

/** A command or code to copy, as one text node in a box that scrolls. */
export function Snippet({ text, name }: { text: string; name: string }) {
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)_auto] rounded-control border bg-sunken">
      <pre tabIndex={0} aria-label={name} className="overflow-x-auto p-3 text-meta whitespace-pre">
        {text}
      </pre>
      <div className="flex items-start p-2">
        <CopyButton text={text} name={`Copy ${name}`} />
      </div>
    </div>
  );
}

interface TextBlockProps {
  name: string;
  text: string;
  /** Classes that limit the height. */
  className?: string;
}

/** Preformatted text, such as JSON, in a box that scrolls. */
export function TextBlock({ name, text, className = "max-h-96" }: TextBlockProps) {
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={name}
      className={`overflow-auto rounded-control bg-sunken p-2 text-meta wrap-anywhere whitespace-pre-wrap ${className}`}
    >
      {text}
    </pre>
  );
}
