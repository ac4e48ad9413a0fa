import { useQuery } from "@tanstack/react-query";
import { ShieldAlert, ShieldCheck } from "lucide-react";
import type { Target } from "../api/shapes.ts";
import { Card, Facts } from "../controls/Card.tsx";
import { For } from "../controls/For.tsx";
import { useRefreshMs } from "../live/liveState.ts";
import { PayloadText } from "../payload/Payload.tsx";
import { Loaded } from "../states/Loaded.tsx";
import { SendSnippet } from "../targets/SendSnippet.tsx";
import { Moment } from "../time/Moment.tsx";
import { AnswerWith } from "./AnswerWith.tsx";
import { type ReceivedRequest, receivedQuery } from "./received.ts";

/** The requests that the tryout target received, live. */
export function TryoutReceived({ target }: { target: Target }) {
  const query = useQuery({ ...receivedQuery(target.id), refetchInterval: useRefreshMs(1000, 1000) });
  return (
    <div className="grid gap-4">
      <For least="member">
        <AnswerWith target={target} />
      </For>
      <Loaded query={query}>
        {(requests) =>
          requests.length === 0 ? (
            <SendSnippet target={target} />
          ) : (
            <ol className="grid gap-4">
              {requests.map((request) => (
                <li key={request.id}>
                  <Received request={request} />
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </div>
  );
}

export function Received({ request }: { request: ReceivedRequest }) {
  const type = request.headers.find(([name]) => name === "x-event-type")?.[1];
  return (
    <Card
      title={type ?? "Item without a type"}
      aside={
        <span className="text-muted">
          <Moment at={request.received_at} />
        </span>
      }
    >
      <div className="grid gap-3">
        <Verified isVerified={request.signature_verified} />
        <details>
          <summary className="font-medium">Headers</summary>
          <div className="mt-2 text-meta">
            <Facts
              facts={request.headers.map(([name = "", value = ""]) => [
                name,
                <code key={name} className="break-all">
                  {value}
                </code>,
              ])}
            />
          </div>
        </details>
        <PayloadText text={request.body} />
        {request.body_truncated && (
          <p className="text-muted">The body is longer; the first 64 KiB are shown.</p>
        )}
      </div>
    </Card>
  );
}

function Verified({ isVerified }: { isVerified: boolean }) {
  return isVerified ? (
    <p className="flex items-center gap-1.5 font-medium text-delivered">
      <ShieldCheck size={16} aria-hidden /> Signature verified
    </p>
  ) : (
    <p className="flex items-center gap-1.5 font-medium text-failed">
      <ShieldAlert size={16} aria-hidden /> Invalid signature
    </p>
  );
}
