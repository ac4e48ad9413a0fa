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
  const [address = "", query = ""] = (target.url ?? "").split("?");
  const present = new URLSearchParams(query).get("answer") ?? "200";
  return (
    <div className="max-w-80">
      <SelectField
        label="Answer deliveries with"
        value={present}
        disabled={change.isPending}
        onChange={({ target: { value } }) =>
          change.mutate(
            { url: value === "200" ? address : `${address}?answer=${value}` },
            {
              onSuccess: () => toast({ text: `The next deliveries are answered with ${value}.` }),
              onError: (error) => toast({ text: sentenceOf(error) }),
            },
          )
        }
      >
        <Options of={answers} />
      </SelectField>
    </div>
  );
}
