import { useState } from "react";
import { useIsMutating } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { Target } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { Unsaved } from "../shell/Unsaved.tsx";
import { useIsShown } from "../shell/useIsShown.ts";
import { useUrlState } from "../shell/useUrlState.ts";
import { CreateTarget, creationKey } from "./CreateTarget.tsx";
import { pathOf } from "./kinds/kinds.ts";
import { SecretOnce } from "./SecretOnce.tsx";
import { OrRoleTooLow } from "../states/OrRoleTooLow.tsx";

const secretLoss =
  "Its signing secret is shown only once, here. If you leave now, you have to rotate the secret on the target’s page.";

/** The page that creates a target of any kind. */
export function NewTargetPage() {
  const [search] = useUrlState();
  const navigate = useNavigate();
  const [made, setMade] = useState<Target>();
  const [isTyped, setTyped] = useState(false);
  const isCreating = useIsMutating({ mutationKey: creationKey }) > 0;
  const isShown = useIsShown();
  const open = (target: Target): void => {
    if (!isShown()) return;
    void navigate({ to: pathOf(target), params: { id: target.id }, search: {}, ignoreBlocker: true });
  };
  return (
    <div className="mx-auto grid max-w-160 gap-4">
      <h1 className="text-page font-semibold">New target</h1>
      {made?.secret !== undefined ? (
        <SecretOnce secret={made.secret} onDone={() => open(made)} />
      ) : (
        <Card>
          <Unsaved
            isUnsaved={isTyped || isCreating}
            loss={isCreating ? secretLoss : "The target has not been created."}
            {...(isCreating && {
              title: "Leave before the target is created?",
              stay: "Stay",
              leave: "Leave",
            })}
          />
          <OrRoleTooLow least="member">
            <CreateTarget
              choice={search["kind"]}
              customerUid={search["customer"]}
              onTyped={() => setTyped(true)}
              onMade={(target) => (target.secret === undefined ? open(target) : setMade(target))}
            />
          </OrRoleTooLow>
        </Card>
      )}
    </div>
  );
}
