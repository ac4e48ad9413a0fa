import { type ReactNode, useState } from "react";
import { Problem } from "../api/problem.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Button, type ButtonProps } from "./Button.tsx";
import { Card } from "./Card.tsx";
import { Form, TextField } from "./Field.tsx";
import { Modal } from "./Modal.tsx";
import { toast } from "./toasts.ts";

/** Whether something is under way, and why it was refused. */
interface State {
  isPending: boolean;
  error: unknown;
}

/** A dialog that asks for a click alone. */
export interface Doing extends State {
  mutate: (input: undefined, then: { onSuccess: () => void }) => void;
}

interface FormDialogProps {
  title: string;
  wide?: boolean;
  onClose: () => void;
  /** The content of the dialog: fields with explanations. */
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
  const { title, wide = false, onClose, doing, isReady = true, decline = "Cancel" } = props;
  const [isTyped, setTyped] = useState(false);
  return (
    <Modal title={title} open wide={wide} closesOutside={!isTyped} onClose={onClose}>
      <Form
        onInput={() => setTyped(true)}
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
      doing={doing}
      onSubmit={() => doing.mutate(undefined, { onSuccess: saved })}
    />
  );
}

export interface ConfirmProps {
  title: string;
  onClose: () => void;
  /** Says what it means, in sentences. */
  children: ReactNode;
  action: string;
  /** The action on confirmation; the dialog closes when it has ended. */
  doing: Doing;
  /** False while what stands in the dialog cannot be done. */
  mayConfirm?: boolean;
  /** The text to type first, for actions that cannot be undone. */
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
      decline={action.startsWith("Cancel") ? "Keep it" : "Cancel"}
      look="danger"
      doing={doing}
      isReady={mayConfirm && (typed === undefined || asShown(text) === asShown(typed))}
      onSubmit={() => doing.mutate(undefined, { onSuccess: onClose })}
    >
      <div className="grid gap-2 text-form">{children}</div>
      {typed !== undefined && asShown(typed) !== "" && (
        <TextField
          label={`Type ${typed} to confirm`}
          value={text}
          autoComplete="off"
          onChange={(event) => setText(event.target.value)}
        />
      )}
    </FormDialog>
  );
}

/** A text as a page shows it: nobody can see, and so type, two blanks in a row, one at an end, or what has no width. */
function asShown(text: string): string {
  return text.replaceAll(/[\s\u{200B}-\u{200D}\u{2060}\u{FEFF}]+/gu, " ").trim();
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

/** The part of a page that deletes what it shows: what that means, and the button as its child. */
export function DeletionCard({ consequence, children }: { consequence: string; children: ReactNode }) {
  return (
    <Card title="Delete">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <p className="text-muted">{consequence}</p>
        {children}
      </div>
    </Card>
  );
}

/**
 * Makes something under a name of its own; nothing where there is one of this name, which the call would change.
 *
 * @throws {Problem}
 */
export async function unlessThere<T>(
  read: () => Promise<unknown>,
  make: () => Promise<T>,
): Promise<T | undefined> {
  try {
    await read();
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 404) throw error;
  }
  return make();
}
