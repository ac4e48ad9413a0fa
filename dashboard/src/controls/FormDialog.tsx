import { type ReactNode, useState } from "react";
import { Problem } from "../api/problem.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { AwaitedOnce } from "./AwaitedOnce.tsx";
import { Button, type ButtonProps } from "./Button.tsx";
import { Card } from "./Card.tsx";
import { Form, TextField } from "./Field.tsx";
import { Modal } from "./Modal.tsx";
import { toast } from "./toasts.ts";

/** The state of a mutation. */
interface State {
  isPending: boolean;
  error: unknown;
  /** Repeats what failed, if that was not the submission itself. */
  retry?: (() => void) | undefined;
}

/**
 * A mutation without input, which a click starts. `then` is not called once the component that has the mutation is gone: a late
 * answer closes no dialog that was opened since, and leads away from no other page.
 */
export interface Doing extends State {
  mutate: (input: undefined, then: { onSuccess: () => void }) => void;
}

interface FormDialogProps {
  title: string;
  wide?: boolean;
  onClose: () => void;
  /** The content of the dialog: fields with explanations. */
  children: ReactNode;
  /** Labels of the buttons that submit and close the dialog. */
  action: string;
  decline?: string;
  look?: "primary" | "danger";
  doing: State;
  /** The name of a secret that the answer shows once: the dialog stays open until the answer arrives. */
  secret?: string | undefined;
  /** False while the fields are incomplete or invalid. */
  isReady?: boolean;
  onSubmit: () => void;
}

/** A dialog with a form, the error of its submission, and buttons that submit and close it. */
export function FormDialog(props: FormDialogProps) {
  const { title, wide = false, onClose, doing, secret, isReady = true, decline = "Cancel" } = props;
  const [isTyped, setTyped] = useState(false);
  const isAwaited = secret !== undefined && doing.isPending;
  return (
    <Modal
      title={title}
      open
      wide={wide}
      dismissible={!isAwaited}
      closesOutside={!isTyped && !isAwaited}
      onClose={onClose}
    >
      <Form
        onInput={() => setTyped(true)}
        onSubmit={() => {
          if (isReady && !doing.isPending) props.onSubmit();
        }}
      >
        {props.children}
        {doing.error !== null && (
          <ProblemCard error={doing.error} {...(doing.retry && { onRetry: doing.retry })} />
        )}
        {secret !== undefined && <AwaitedOnce what={secret} doing={doing} />}
        <div className="flex justify-end gap-2">
          <Button busy={isAwaited} onClick={onClose}>
            {decline}
          </Button>
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

/** A dialog that edits an existing object. After saving, it shows a toast and closes. */
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

interface Count {
  isFetching: boolean;
  isFetchedAfterMount: boolean;
  error: unknown;
  refetch: () => unknown;
}

/**
 * The state of an action that needs the count of what it concerns: it waits for the count, and shows its error with Retry. It does
 * not wait for a later refresh of the count, which live changes cause: a click meanwhile would have no effect.
 */
export function afterCount(doing: Doing, { isFetching, isFetchedAfterMount, error, refetch }: Count): Doing {
  const isUncounted = doing.error === null && error !== null;
  return {
    mutate: doing.mutate,
    isPending: doing.isPending || (isFetching && (error !== null || !isFetchedAfterMount)),
    error: doing.error ?? error,
    retry: isUncounted ? () => void refetch() : undefined,
  };
}

export interface ConfirmProps {
  title: string;
  onClose: () => void;
  /** Explains the consequences, in sentences. */
  children: ReactNode;
  action: string;
  /** The action; the dialog closes when it has succeeded. */
  doing: Doing;
  /** Called after the action has succeeded, unless the user has left the page of the mutation. */
  onDone?: () => void;
  /** False while the dialog's content does not allow the action. */
  mayConfirm?: boolean;
  /** The text to type first, for actions that cannot be undone. */
  typed?: string;
}

/** Asks before an action that cannot be undone. */
export function Confirm(props: ConfirmProps) {
  const { title, onClose, children, action, doing, mayConfirm = true, typed, onDone } = props;
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
      onSubmit={() =>
        doing.mutate(undefined, {
          onSuccess: () => {
            onClose();
            onDone?.();
          },
        })
      }
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

/** The text as a page shows it. Users cannot see, and so cannot type, repeated or outer spaces and zero-width characters. */
function asShown(text: string): string {
  return text.replaceAll(/[\s\u{200B}-\u{200D}\u{2060}\u{FEFF}]+/gu, " ").trim();
}

interface ConfirmButtonProps extends Omit<ConfirmProps, "onClose"> {
  /** The label of the button. It ends with an ellipsis, because the button asks first. */
  text: string;
  look?: ButtonProps["look"];
  disabled?: boolean;
}

/** A button for an action that cannot be undone, with its confirmation dialog. */
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

/** The card of a page that deletes the page's object: the consequence, and the button as its child. */
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
 * Creates an object with `make` unless `read` finds it: `make` would overwrite an existing object.
 *
 * @returns undefined if the object exists. @throws {Problem}
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
