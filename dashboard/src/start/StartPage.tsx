import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { targetsQuery } from "../api/queries.ts";
import { useMay } from "../api/role.ts";
import type { Target } from "../api/shapes.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { useUrlState } from "../shell/useUrlState.ts";
import { Loaded } from "../states/Loaded.tsx";
import { OrRoleTooLow } from "../states/OrRoleTooLow.tsx";
import { CreateTarget } from "../targets/CreateTarget.tsx";
import { SecretOnce } from "../targets/SecretOnce.tsx";
import { KeyToSend } from "./KeyToSend.tsx";
import { SendStep } from "./SendStep.tsx";
import { keep, type Kept, kept } from "./kept.ts";

const WatchStep = lazy(async () => ({ default: (await import("./WatchStep.tsx")).WatchStep }));

/** Three steps to a first item: create a target, send, watch the item arrive. The page advances by itself. */
export function StartPage() {
  const targets = useQuery(targetsQuery);
  return (
    <div className="mx-auto grid max-w-200 grid-cols-1 gap-4">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h1 className="text-page font-semibold">Get started</h1>
        <Link to="/" search={{ skip: "1" }} className={buttonLook("quiet")}>
          Skip
        </Link>
      </div>
      <Loaded query={targets}>{(list) => <Steps targets={list} />}</Loaded>
    </div>
  );
}

function Steps({ targets }: { targets: readonly Target[] }) {
  const [search, change] = useUrlState();
  const mayMake = useMay("member");
  const [{ apiKey, secrets = {} }, setKept] = useState(kept);
  const target = targets.find(({ id }) => id === search["target"]);
  const keepAndShow: typeof keep = (changes) => {
    keep(changes);
    setKept(kept());
  };
  const takeTarget = (made: Target): void => {
    const { id, name, secret } = made;
    if (secret !== undefined) keepAndShow({ secrets: { ...kept().secrets, [id]: { of: name, secret } } });
    change({ target: made.id });
  };
  return (
    <div className="grid grid-cols-1 gap-4">
      <Step number={1} title="Create a target" isDone={target !== undefined}>
        {target === undefined ? (
          <>
            {targets.length > 0 && <ChooseTarget targets={targets} onChoose={takeTarget} />}
            <OrRoleTooLow least="member">
              <CreateTarget onMade={takeTarget} />
            </OrRoleTooLow>
          </>
        ) : (
          <p>
            <span className="font-medium wrap-anywhere">{target.name}</span>{" "}
            <button
              type="button"
              className="text-accent underline"
              onClick={() => change({ target: undefined, item: undefined })}
            >
              {mayMake ? "Create another" : "Choose another"}
            </button>
          </p>
        )}
      </Step>
      <KeptSecrets secrets={secrets} onChange={(changed) => keepAndShow({ secrets: changed })} />
      <Step
        number={2}
        title="Send an item to it"
        isDone={search["item"] !== undefined}
        isAhead={target === undefined}
      >
        {target !== undefined && (
          <div className="grid gap-4">
            <KeyToSend value={apiKey} onKey={(made) => keepAndShow({ apiKey: made })} />
            <SendStep
              target={target}
              apiKey={apiKey}
              onKey={(made) => keepAndShow({ apiKey: made })}
              onSent={(item) => change({ item })}
            />
          </div>
        )}
      </Step>
      <Step number={3} title="Watch it arrive" isDone={false} isAhead={target === undefined}>
        {target !== undefined && (
          <Suspense fallback={null}>
            <WatchStep target={target} itemId={search["item"]} onArrival={(item) => change({ item })} />
          </Suspense>
        )}
      </Step>
    </div>
  );
}

interface KeptSecretsProps {
  secrets: NonNullable<Kept["secrets"]>;
  onChange: (secrets: KeptSecretsProps["secrets"]) => void;
}

/** The secrets that the user has not saved yet. */
function KeptSecrets({ secrets, onChange }: KeptSecretsProps) {
  return Object.entries(secrets).map(([id, made]) => (
    <SecretOnce
      key={id}
      isKept
      {...made}
      onDone={() => {
        const { [id]: _saved, ...others } = secrets;
        onChange(others);
      }}
    />
  ));
}

interface StepProps {
  number: number;
  title: string;
  isDone: boolean;
  isAhead?: boolean;
  children: ReactNode;
}

function Step({ number, title, isDone, isAhead = false, children }: StepProps) {
  const mark = isDone ? <Check size={14} aria-label="done" /> : number;
  return (
    <div className={isAhead ? "[&_h2]:text-muted" : ""}>
      <Card
        title={
          <span className="flex items-center gap-2">
            <span
              className={`figures inline-flex size-6 items-center justify-center rounded-pill text-meta ${isDone ? "bg-delivered-bg text-delivered" : "bg-sunken"}`}
            >
              {mark}
            </span>
            {title}
          </span>
        }
      >
        {isAhead ? (
          <p className="text-muted">After the previous step.</p>
        ) : (
          <div className="grid grid-cols-1 gap-4">{children}</div>
        )}
      </Card>
    </div>
  );
}

function ChooseTarget({
  targets,
  onChoose,
}: {
  targets: readonly Target[];
  onChoose: (target: Target) => void;
}) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="text-muted">Use an existing target:</span>
      {targets.slice(0, 6).map((target) => (
        <Button key={target.id} title={target.name} className="max-w-full" onClick={() => onChoose(target)}>
          <span className="truncate">{target.name}</span>
        </Button>
      ))}
    </div>
  );
}
