import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Bot, TriangleAlert, User } from "lucide-react";
import { type ReactNode, useState } from "react";
import { answer, client } from "../api/client.ts";
import { keepForSession, keptForSession } from "../api/session.ts";
import type { Handoff } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Form, TextArea } from "../controls/Field.tsx";
import { For } from "../controls/For.tsx";
import { ConfirmButton } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { Moment } from "../time/Moment.tsx";
import { artifactText, isWaitingForInput, partText, stateName } from "./handoffWords.ts";

/** The messages to the agent and its answers, as a conversation. */
export function Conversation({ eventId, handoff }: { eventId: string; handoff: Handoff }) {
  const isOver = handoff.outcome !== null;
  return (
    <div className="grid gap-4">
      {handoff.possible_duplicate && <DuplicateBanner />}
      <ol className="grid gap-3">
        <Line icon={<User size={14} aria-label="You" />}>
          The item was handed over. <Moment at={handoff.accepted_at} />
        </Line>
        <Line icon={<Bot size={14} aria-label="Agent" />}>
          <p>
            <span className="font-medium">{stateName(handoff)}</span>{" "}
            <span className="text-muted">
              <Moment at={handoff.updated_at} />
            </span>
          </p>
          {handoff.status_parts.length > 0
            ? handoff.status_parts.map((part, index) => <Said key={index} text={partText(part)} />)
            : handoff.status_message !== null && <Said text={handoff.status_message} />}
          {handoff.error !== null && <p className="wrap-anywhere text-failed">{handoff.error}</p>}
        </Line>
      </ol>
      {handoff.artifacts.length > 0 && <Artifacts handoff={handoff} />}
      <For least="member">
        {isWaitingForInput(handoff) && <AnswerForm eventId={eventId} />}
        {!isOver && <CancelTask eventId={eventId} />}
      </For>
    </div>
  );
}

function Line({ icon, children }: { icon: ReactNode; children: ReactNode }) {
  return (
    <li className="grid grid-cols-[24px_minmax(0,1fr)] gap-2">
      <span className="inline-flex size-6 items-center justify-center rounded-pill bg-sunken text-muted">
        {icon}
      </span>
      <div className="grid min-w-0 gap-1 pt-0.5">{children}</div>
    </li>
  );
}

/** A message of the agent, shown as plain text. */
function Said({ text }: { text: string }) {
  return <pre className="font-sans wrap-anywhere whitespace-pre-wrap">{text}</pre>;
}

function DuplicateBanner() {
  return (
    <p className="flex gap-2 rounded-control bg-retrying-bg p-3 text-retrying">
      <TriangleAlert size={16} className="mt-0.5 shrink-0" aria-hidden />
      The agent may have been given this twice: an answer was lost after the message was sent, and the agent
      does not say whether it had it already.
    </p>
  );
}

function Artifacts({ handoff }: { handoff: Handoff }) {
  return (
    <div className="grid gap-2">
      <h3 className="font-semibold">Artifacts</h3>
      {handoff.artifacts.map((artifact, index) => (
        <pre
          key={index}
          tabIndex={0}
          aria-label={`Artifact ${index + 1}`}
          className="max-h-80 overflow-auto rounded-control bg-sunken p-3 text-meta wrap-anywhere whitespace-pre-wrap"
        >
          {artifactText(artifact)}
        </pre>
      ))}
      {handoff.artifacts_truncated && <p className="text-muted">Some artifacts were too large to store.</p>}
    </div>
  );
}

/**
 * The draft of an answer. It is stored until it is sent, because the drawer may be closed or the agent may continue
 * meanwhile.
 */
function useDraft(eventId: string) {
  const name = `answer.${eventId}`;
  const [text, setText] = useState(() => (keptForSession(name) as string | undefined) ?? "");
  const change = (next: string): void => {
    setText(next);
    keepForSession(name, next);
  };
  const clearSent = (sent: string): void => {
    if (keptForSession(name) === sent) change("");
  };
  return { text, change, clearSent };
}

function AnswerForm({ eventId }: { eventId: string }) {
  const { text, change, clearSent } = useDraft(eventId);
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: (sent: string) =>
      answer(
        client.POST("/api/v1/events/{id}/handoff/message", {
          params: { path: { id: eventId } },
          body: { text: sent } as never,
        }),
      ),
    onSuccess: (_answered, sent) => {
      clearSent(sent);
      toast({ text: "Sent to the agent." });
      void queries.invalidateQueries({ queryKey: ["items"] });
      void queries.invalidateQueries({ queryKey: ["handoffs"] });
    },
  });
  return (
    <Form
      className="grid gap-2"
      onSubmit={() => {
        if (text.trim() !== "") send.mutate(text);
      }}
    >
      <TextArea
        label="The agent waits for your answer"
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      {send.isError && <ProblemCard error={send.error} />}
      <div>
        <Button type="submit" look="primary" busy={send.isPending} disabled={text.trim() === ""}>
          Send the answer
        </Button>
      </div>
    </Form>
  );
}

function CancelTask({ eventId }: { eventId: string }) {
  const queries = useQueryClient();
  const cancel = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/events/{id}/handoff/cancel", { params: { path: { id: eventId } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["items"] });
      void queries.invalidateQueries({ queryKey: ["handoffs"] });
    },
  });
  return (
    <div>
      <ConfirmButton
        text="Cancel the task…"
        title="Cancel this task?"
        action="Cancel the task"
        doing={cancel}
      >
        <p>The agent is asked to stop. Work that it has already done is not undone.</p>
      </ConfirmButton>
    </div>
  );
}
