import { Link, useRouterState } from "@tanstack/react-router";
import { CircleAlert } from "lucide-react";
import { portalOrganization } from "../api/portal.ts";
import { Problem, sentenceOf } from "../api/problem.ts";
import { Button, buttonLook } from "../controls/Button.tsx";
import { pages } from "../shell/pages.ts";
import { Countdown } from "../time/Moment.tsx";
import { RoleTooLow } from "./RoleTooLow.tsx";

/** An error beside the part of the page that failed: a sentence, the request's id for the operator, and what to do. */
export function ProblemCard({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const requestId = error instanceof Problem ? error.requestId : undefined;
  const status = error instanceof Problem ? error.status : undefined;
  const code = error instanceof Problem ? error.code : undefined;
  return (
    <div role="alert" className="flex gap-3 rounded-card border border-failed bg-failed-bg p-4 text-failed">
      <CircleAlert size={16} className="mt-0.5 shrink-0" aria-hidden />
      <div className="grid min-w-0 gap-2">
        <div className="font-medium wrap-anywhere">
          {code === "role_too_low" ? <RoleTooLow /> : sentenceOf(error)}
        </div>
        <WayOn status={status} code={code} />
        {status === 429 && error instanceof Problem && <NextTry problem={error} />}
        {requestId !== undefined && (
          <p className="text-meta">
            Request <code>{requestId}</code>
          </p>
        )}
        {onRetry && (
          <div>
            <Button onClick={onRetry}>Retry</Button>
          </div>
        )}
      </div>
    </div>
  );
}

/** Counts down the time until a rate-limited request may be repeated. */
function NextTry({ problem: { atMs, retryAfterSeconds = 60 } }: { problem: Problem }) {
  return (
    <p>
      Try again in <Countdown until={atMs / 1000 + retryAfterSeconds} ended="a moment" />.
    </p>
  );
}

function WayOn({ status, code }: { status: number | undefined; code: string | undefined }) {
  // The linked pages do not exist in a portal.
  if (portalOrganization !== undefined) return null;
  if (status === 402)
    return (
      <p>
        The organization is suspended because an invoice was not paid. Reading still works; sending and making
        keys do not. <UsageLink />
      </p>
    );
  if (["role_too_low", "password_wrong", "revealing_is_off"].includes(code ?? "")) return null;
  if (status === 403)
    return (
      <p>
        If the organization is still pending, sending and making keys begin once a payment method is set up.{" "}
        <UsageLink />
      </p>
    );
  if (status === 404)
    return (
      <p>
        It may have been deleted, be past its retention, or belong to another organization. <ListLink />
      </p>
    );
  return null;
}

/** Pages that are lists of objects. */
const lists = pages.filter(({ path }) => !["/", "/usage", "/settings"].includes(path));

/** Leads to the list that the missing object would be in. Other pages show their lists themselves. */
function ListLink() {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [, first = ""] = path.split("/");
  const list = lists.find(({ path: listPath }) => listPath === `/${first}`);
  if (list === undefined) return null;
  return (
    <Link to={list.path} search={{}} className="underline">
      See all {list.name.toLowerCase()}
    </Link>
  );
}

function UsageLink() {
  return (
    <Link to="/usage" className="underline">
      See usage and billing
    </Link>
  );
}

/** The page for an unknown address. */
export function NotFoundPage() {
  return (
    <div className="grid justify-items-start gap-3">
      <h1 className="text-page font-semibold">There is no page at this address</h1>
      <p className="text-muted">The link may be mistyped or from a newer version.</p>
      <Link to="/" className={buttonLook("primary")}>
        Go to the overview
      </Link>
    </div>
  );
}
