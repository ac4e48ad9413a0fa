import { useMutation } from "@tanstack/react-query";
import { Send } from "lucide-react";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { Button } from "../controls/Button.tsx";
import { Facts } from "../controls/Card.tsx";
import { TextBlock } from "../controls/Copy.tsx";
import { Modal } from "../controls/Modal.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { milliseconds } from "../time/wording.ts";

/** Sends one test delivery at once, without an item, and shows the receiver's response. */
export function SendTest({ targetId }: { targetId: string }) {
  const [isOpen, setOpen] = useState(false);
  const test = useMutation({
    mutationFn: () =>
      answer(client.POST("/api/v1/targets/{id}/test", { params: { path: { id: targetId } }, body: {} })),
    onSettled: () => setOpen(true),
  });
  const attempt = test.data?.attempt;
  return (
    <>
      <Button icon={<Send size={14} aria-hidden />} busy={test.isPending} onClick={() => test.mutate()}>
        Send a test
      </Button>
      <Modal
        title={
          test.isPending
            ? "Sending…"
            : test.isError
              ? "The test was not sent"
              : test.data?.delivered === true
                ? "Delivered"
                : "Not delivered"
        }
        open={isOpen}
        onClose={() => setOpen(false)}
      >
        {test.isError && <ProblemCard error={test.error} />}
        {attempt !== undefined && (
          <>
            <Facts
              facts={[
                ["Answer", attempt.status_code === 0 ? "none" : String(attempt.status_code)],
                ["Took", milliseconds(attempt.duration_ms)],
                ...(attempt.error === null ? [] : [["Error", attempt.error] as const]),
              ]}
            />
            {attempt.response_body !== null && attempt.response_body !== "" && (
              <TextBlock name="Answer (first KiB)" text={attempt.response_body} className="max-h-60" />
            )}
            <p className="text-muted">
              One signed delivery with <code>x-postrider-test: true</code>. It is no item: nothing of it is
              kept, counted or billed.
            </p>
          </>
        )}
        <div className="flex justify-end gap-2">
          <Button busy={test.isPending} onClick={() => test.mutate()}>
            Send another
          </Button>
          <Button look="primary" onClick={() => setOpen(false)}>
            Done
          </Button>
        </div>
      </Modal>
    </>
  );
}
