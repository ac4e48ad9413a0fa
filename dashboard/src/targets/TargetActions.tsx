import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Pause, Play, Send } from "lucide-react";
import { callJson } from "../api/client.ts";
import { isOffered } from "../api/offered.ts";
import { sentenceOf } from "../api/problem.ts";
import type { Target } from "../api/shapes.ts";
import { Link } from "@tanstack/react-router";
import { Button, buttonLook } from "../controls/Button.tsx";
import { toast } from "../controls/toasts.ts";
import { milliseconds } from "../time/wording.ts";
import { useEnabling } from "./useTargetChange.ts";
import { ReplayFailures } from "../replays/ReplayFailures.tsx";

interface TestOutcome {
  event_id: string;
  delivered: boolean;
  attempt: { status_code: number; duration_ms: number; error: string | null } | null;
}

/** What is done to a target most often. */
export function TargetActions({ target }: { target: Target }) {
  const enabling = useEnabling();
  const queries = useQueryClient();
  const test = useMutation({
    mutationFn: () => callJson<TestOutcome>("POST", `api/v1/targets/${target.id}/test`, {}),
    onSuccess: (outcome) => {
      void queries.invalidateQueries({ queryKey: ["items"] });
      toast({ text: testWords(outcome) });
    },
    onError: (error) => toast({ text: sentenceOf(error) }),
  });
  return (
    <div className="flex flex-wrap gap-2">
      {isOffered("/api/v1/targets/{id}/test") && (
        <Button icon={<Send size={14} aria-hidden />} busy={test.isPending} onClick={() => test.mutate()}>
          Send a test item
        </Button>
      )}
      {isOffered("/api/v1/replays") ? (
        <ReplayFailures targetId={target.id} />
      ) : (
        <Link to="/items" search={{ target: target.id, status: "FAILED" }} className={buttonLook()}>
          See what failed
        </Link>
      )}
      <Button
        icon={target.enabled ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
        look={target.enabled ? "plain" : "primary"}
        onClick={() => enabling.mutate({ ids: [target.id], enabled: !target.enabled })}
      >
        {target.enabled ? "Pause" : "Enable"}
      </Button>
    </div>
  );
}

function testWords({ delivered, attempt }: TestOutcome): string {
  if (attempt === null) return "The test item was accepted; its attempt is not over yet.";
  const answer = attempt.status_code === 0 ? (attempt.error ?? "no answer") : String(attempt.status_code);
  return `${delivered ? "Delivered" : "Not delivered"}: ${answer} in ${milliseconds(attempt.duration_ms)}.`;
}
