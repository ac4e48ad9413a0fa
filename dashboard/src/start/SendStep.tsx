import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { answer, client } from "../api/client.ts";
import { useMay } from "../api/role.ts";
import type { Target } from "../api/shapes.ts";
import { Button } from "../controls/Button.tsx";
import { Snippet } from "../controls/Copy.tsx";
import { ProblemCard } from "../states/ProblemCard.tsx";
import { createFirstKey } from "./KeyToSend.tsx";
import { curlSnippet, typescriptSnippet } from "../targets/sendSnippets.ts";

interface SendStepProps {
  target: Target;
  apiKey: string | undefined;
  /** Called with the key that was created because there was none. */
  onKey: (key: string) => void;
  onSent: (itemId: string) => void;
}

/** Snippets that send an item, and a button that sends the same item from here. */
export function SendStep({ target, apiKey, onKey, onSent }: SendStepProps) {
  const mayMakeKeys = useMay("admin");
  const [language, setLanguage] = useState<"curl" | "TypeScript">("curl");
  const key = apiKey ?? "$POSTRIDER_KEY";
  const send = useMutation({
    mutationFn: async () => {
      const made = apiKey ?? (await createFirstKey());
      if (apiKey === undefined) onKey(made);
      return sendFirstItem(target.id, made);
    },
    onSuccess: ({ id }) => onSent(id),
  });
  return (
    <div className="grid min-w-0 gap-3">
      <div role="group" aria-label="Language" className="flex gap-1">
        {(["curl", "TypeScript"] as const).map((one) => (
          <Button
            key={one}
            look={one === language ? "plain" : "quiet"}
            aria-pressed={one === language}
            onClick={() => setLanguage(one)}
          >
            {one}
          </Button>
        ))}
      </div>
      {language === "curl" ? (
        <Snippet name="curl command" text={curlSnippet(target.id, key)} />
      ) : (
        <Snippet
          name="TypeScript snippet"
          text={typescriptSnippet(target.id, apiKey ?? "process.env.POSTRIDER_KEY")}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button
          look="primary"
          busy={send.isPending}
          disabled={apiKey === undefined && !mayMakeKeys}
          onClick={() => send.mutate()}
        >
          {apiKey === undefined && mayMakeKeys ? "Create a key and send" : "Send it from here"}
        </Button>
        <span className="text-muted">or run the snippet anywhere</span>
      </div>
      {send.isError && <ProblemCard error={send.error} />}
    </div>
  );
}

/** Sends the item of the snippets. Sending needs an API key; a session is not accepted. @throws {Problem} */
async function sendFirstItem(targetId: string, apiKey: string): Promise<{ id: string }> {
  return answer(
    client.POST("/t/{target_id}", {
      params: { path: { target_id: targetId } },
      headers: { authorization: `Bearer ${apiKey}` },
      body: { event_type: "order.created", order: 1001 } as never,
    }),
  );
}
