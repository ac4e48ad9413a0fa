import { type ReactNode, useState } from "react";
import { Button } from "./Button.tsx";
import { TextField } from "./Field.tsx";
import { Modal } from "./Modal.tsx";

export interface ConfirmProps {
  title: string;
  open: boolean;
  onClose: () => void;
  /** Says what it means, in sentences. */
  children: ReactNode;
  action: string;
  onConfirm: () => void;
  busy?: boolean;
  /** False while what stands in the dialog cannot be done. */
  mayConfirm?: boolean;
  /** What has to be typed first; for what cannot be undone. */
  typed?: string;
  error?: ReactNode;
}

/** Asks before something is done that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { title, open, onClose, children, action, onConfirm, busy = false, typed, error } = props;
  const [text, setText] = useState("");
  const mayConfirm = props.mayConfirm !== false && (typed === undefined || text === typed);
  return (
    <Modal title={title} open={open} onClose={onClose}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (mayConfirm && !busy) onConfirm();
        }}
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
        {error}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" look="danger" busy={busy} disabled={!mayConfirm}>
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
