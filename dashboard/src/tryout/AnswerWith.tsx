import { sentenceOf } from "../api/problem.ts";
import type { Target } from "../api/shapes.ts";
import { Options, SelectField } from "../controls/Field.tsx";
import { toast } from "../controls/toasts.ts";
import { useTargetChange } from "../targets/useTargetChange.ts";

const answers = [
  ["200", "200, delivered"],
  ["500", "500 (retried)"],
  ["503", "503 (retried)"],
  ["410", "410, which disables the target"],
] as const;

/** Chooses the status with which the tryout answers, so that users see failures and retries before a real receiver has them. */
export function AnswerWith({ target }: { target: Target }) {
  const change = useTargetChange(target.id);
  const [address = ""] = (target.url ?? "").split("?");
  return (
    <div className="max-w-80">
      <SelectField
        label="Answer deliveries with"
        // Not disabled while a change is saved, because that would take the focus away.
        value={change.isPending ? answerOf(change.variables.url) : answerOf(target.url)}
        aria-busy={change.isPending}
        onChange={({ target: { value } }) => {
          if (change.isPending) return;
          change.mutate(
            { url: value === "200" ? address : `${address}?answer=${value}` },
            {
              onSuccess: () => toast({ text: `The next deliveries are answered with ${value}.` }),
              onError: (error) => toast({ text: sentenceOf(error) }),
            },
          );
        }}
      >
        <Options of={answers} />
      </SelectField>
    </div>
  );
}

/** The status in the URL of a tryout target. */
function answerOf(url = ""): string {
  return new URLSearchParams(url.split("?")[1]).get("answer") ?? "200";
}
