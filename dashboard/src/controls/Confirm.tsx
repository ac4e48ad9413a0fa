import { type ReactNode, useState } from "react";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Button } from "./Button.tsx";
import { TextField } from "./Field.tsx";
import { Form } from "./Form.tsx";
import { Modal } from "./Modal.tsx";

export interface ConfirmProps {
  title: string;
  onClose: () => void;
  /** Says what it means, in sentences. */
  children: ReactNode;
  action: string;
  onConfirm: () => void;
  /** What confirming does: whether it is under way, and why it was refused. */
  doing: { isPending: boolean; error: unknown };
  /** False while what stands in the dialog cannot be done. */
  mayConfirm?: boolean;
  /** What has to be typed first; for what cannot be undone. */
  typed?: string;
}

/** Asks before something is done that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { title, onClose, children, action, onConfirm, doing, typed } = props;
  const [text, setText] = useState("");
  const mayConfirm = props.mayConfirm !== false && (typed === undefined || text === typed);
  return (
    <Modal title={title} open onClose={onClose}>
      <Form onSubmit={() => (mayConfirm && !doing.isPending ? onConfirm() : undefined)}>
        <div className="grid gap-2 text-form">{children}</div>
        {typed !== undefined && (
          <TextField
            label={`Type ${typed} to go on`}
            value={text}
            autoComplete="off"
            onChange={(event) => setText(event.target.value)}
          />
        )}
        {doing.error !== null && <ProblemCard error={doing.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Keep it as it is</Button>
          <Button type="submit" look="danger" busy={doing.isPending} disabled={!mayConfirm}>
            {action}
          </Button>
        </div>
      </Form>
    </Modal>
  );
}
