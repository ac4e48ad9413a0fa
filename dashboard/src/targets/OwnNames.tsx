import { Link } from "@tanstack/react-router";
import type { Target } from "../api/shapes.ts";
import { CopyButton } from "../controls/Copy.tsx";
import { Metadata } from "../customers/Metadata.tsx";

/** The customer, uid and metadata of a target; nothing if it has none. */
export function OwnNames({ target }: { target: Target }) {
  const { customer_uid: customer, uid, metadata } = target;
  const hasMetadata = metadata !== undefined && Object.keys(metadata).length > 0;
  if (customer === undefined && uid === undefined && !hasMetadata) return null;
  return (
    <div className="flex min-w-0 flex-wrap items-baseline gap-x-6 gap-y-1">
      {customer !== undefined && (
        <span className="min-w-0 break-all">
          <span className="text-muted">Customer </span>
          <Link to="/customers/$uid" params={{ uid: customer }} search={{}} className="text-accent underline">
            {customer}
          </Link>
        </span>
      )}
      {uid !== undefined && (
        <span className="inline-flex max-w-full items-center gap-1">
          <span className="text-muted">Uid</span>
          <code className="min-w-0 text-meta break-all">{uid}</code>
          <CopyButton text={uid} name="Copy uid" />
        </span>
      )}
      {hasMetadata && (
        <details className="min-w-0 open:basis-full">
          <summary className="text-muted">Metadata</summary>
          <div className="mt-1">
            <Metadata value={metadata} />
          </div>
        </details>
      )}
    </div>
  );
}
