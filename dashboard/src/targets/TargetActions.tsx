import type { Target } from "../api/shapes.ts";
import { For } from "../controls/For.tsx";
import { ReplayFailures } from "../replays/ReplayFailures.tsx";
import { Enabling } from "./Enabling.tsx";
import { kindOf } from "./kinds/kinds.ts";
import { SendTest } from "./SendTest.tsx";

/** The most frequent actions on a target. */
export function TargetActions({ target }: { target: Target }) {
  return (
    <For least="member">
      <div className="flex flex-wrap gap-2">
        {kindOf(target).isTestable && <SendTest targetId={target.id} />}
        <ReplayFailures targetId={target.id} />
        <Enabling target={target} />
      </div>
    </For>
  );
}
