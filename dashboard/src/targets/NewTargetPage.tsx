import { useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import type { Target } from "../api/shapes.ts";
import { Card } from "../controls/Card.tsx";
import { Unsaved } from "../shell/Unsaved.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { CreateTarget } from "./CreateTarget.tsx";
import { pathOf } from "./kinds/kinds.ts";
import { SecretOnce } from "./SecretOnce.tsx";
import { OrRoleTooLow } from "../states/OrRoleTooLow.tsx";

/** The page that creates a target of any kind. */
export function NewTargetPage() {
  const [search] = useUrlState();
  const navigate = useNavigate();
  const [made, setMade] = useState<Target>();
  const [isTyped, setTyped] = useState(false);
  const open = (target: Target): void =>
    void navigate({ to: pathOf(target), params: { id: target.id }, search: {}, ignoreBlocker: true });
  return (
    <div className="mx-auto grid max-w-160 gap-4">
      <h1 className="text-page font-semibold">New target</h1>
      {made?.secret !== undefined ? (
        <SecretOnce secret={made.secret} onDone={() => open(made)} />
      ) : (
        <Card>
          <Unsaved isUnsaved={isTyped} loss="The target has not been created." />
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
