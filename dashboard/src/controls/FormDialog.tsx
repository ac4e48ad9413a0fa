import type { ReactNode } from "react";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Button } from "./Button.tsx";
import { Form } from "./Form.tsx";
import { Modal } from "./Modal.tsx";
import { toast } from "./toasts.ts";

/** Whether something is under way, and why it was refused. */
interface State {
  isPending: boolean;
  error: unknown;
}

/** What a dialog does that asks for nothing more than a click. */
export interface Doing extends State {
  mutate: (input: undefined, then: { onSuccess: () => void }) => void;
}

interface FormDialogProps {
  title: string;
  wide?: boolean;
  onClose: () => void;
  /** What the dialog is for: fields, and what they mean. */
  children: ReactNode;
  /** The words of the button that sends it, and of the one that does not. */
  action: string;
  decline?: string;
  look?: "primary" | "danger";
  doing: State;
  /** False while what stands in the fields cannot be done. */
  isReady?: boolean;
  onSubmit: () => void;
}

/** A dialog that asks for something: a form, why it was refused, and a way out beside the way on. */
export function FormDialog(props: FormDialogProps) {
  const { title, wide = false, onClose, doing, isReady = true, decline = "Not now" } = props;
  return (
    <Modal title={title} open wide={wide} onClose={onClose}>
      <Form
        onSubmit={() => {
          if (isReady && !doing.isPending) props.onSubmit();
        }}
      >
        {props.children}
        {doing.error !== null && <ProblemCard error={doing.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{decline}</Button>
          <Button type="submit" look={props.look ?? "primary"} busy={doing.isPending} disabled={!isReady}>
            {props.action}
          </Button>
        </div>
      </Form>
    </Modal>
  );
}

interface EditDialogProps extends Pick<
  FormDialogProps,
  "title" | "wide" | "onClose" | "isReady" | "children"
> {
  doing: Doing;
}

/** Changes what is there already; it says so, and closes. */
export function EditDialog({ onClose, doing, ...rest }: EditDialogProps) {
  function saved(): void {
    toast({ text: "Saved." });
    onClose();
  }
  return (
    <FormDialog
      {...rest}
      onClose={onClose}
      action="Save"
      decline="Keep it as it is"
      doing={doing}
      onSubmit={() => doing.mutate(undefined, { onSuccess: saved })}
    />
  );
}
