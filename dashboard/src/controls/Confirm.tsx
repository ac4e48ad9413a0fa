import { type ReactNode, useState } from "react";
import { Button, type ButtonProps } from "./Button.tsx";
import { TextField } from "./Field.tsx";
import { type Doing, FormDialog } from "./FormDialog.tsx";

interface ConfirmProps {
  title: string;
  onClose: () => void;
  /** Says what it means, in sentences. */
  children: ReactNode;
  action: string;
  /** What confirming does; the dialog closes once it is done. */
  doing: Doing;
  /** False while what stands in the dialog cannot be done. */
  mayConfirm?: boolean;
  /** What has to be typed first; for what cannot be undone. */
  typed?: string;
}

/** Asks before something is done that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { title, onClose, children, action, doing, mayConfirm = true, typed } = props;
  const [text, setText] = useState("");
  return (
    <FormDialog
      title={title}
      onClose={onClose}
      action={action}
      decline="Keep it as it is"
      look="danger"
      doing={doing}
      isReady={mayConfirm && (typed === undefined || text === typed)}
      onSubmit={() => doing.mutate(undefined, { onSuccess: onClose })}
    >
      <div className="grid gap-2 text-form">{children}</div>
      {typed !== undefined && (
        <TextField
          label={`Type ${typed} to go on`}
          value={text}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
      )}
    </FormDialog>
  );
}

interface ConfirmButtonProps extends Omit<ConfirmProps, "onClose"> {
  /** The words of the button, with an ellipsis: it asks first. */
  text: string;
  look?: ButtonProps["look"];
  disabled?: boolean;
}

/** A button, and what it asks before it does something that cannot be undone. */
export function ConfirmButton({ text, look = "danger", disabled = false, ...asked }: ConfirmButtonProps) {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button look={look} disabled={disabled} onClick={() => setAsks(true)}>
        {text}
      </Button>
      {asks && <Confirm {...asked} onClose={() => setAsks(false)} />}
    </>
  );
}
