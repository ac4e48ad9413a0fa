import { useState } from "react";
import type { JsonNode } from "./losslessJson.ts";

/** Number of children shown at first, and of those that each click on “more” adds. */
const atATime = 100;
/** Branches above this depth are open at first. */
const openDepth = 2;

/** A document as a tree of text nodes, whose closed branches are not rendered. */
export function JsonTree({ node }: { node: JsonNode }) {
  return (
    <div className="overflow-x-auto font-mono text-meta" tabIndex={0} role="group" aria-label="Payload">
      <Node node={node} depth={0} />
    </div>
  );
}

function Node({ node, depth, name }: { node: JsonNode; depth: number; name?: string }) {
  switch (node.kind) {
    case "object":
    case "array":
      return <Branch node={node} depth={depth} {...(name !== undefined && { name })} />;
    case "string":
    case "number":
    case "literal":
      return (
        <div className="break-all">
          <Name name={name} />
          <span className={leafLooks[node.kind]}>{node.text}</span>
        </div>
      );
  }
}

const leafLooks = { string: "text-delivered", number: "text-claimed", literal: "text-filtered" };

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span className="text-muted">{name}: </span>;
}

type BranchNode = Extract<JsonNode, { kind: "object" | "array" }>;

function Branch({ node, depth, name }: { node: BranchNode; depth: number; name?: string }) {
  const [isOpen, setOpen] = useState(depth < openDepth);
  const [shown, setShown] = useState(atATime);
  const children: readonly (readonly [string | undefined, JsonNode])[] =
    node.kind === "object" ? node.entries : node.items.map((item) => [undefined, item] as const);
  const [begin, end] = node.kind === "object" ? ["{", "}"] : ["[", "]"];
  if (children.length === 0)
    return (
      <div>
        <Name name={name} />
        {begin}
        {end}
      </div>
    );
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        className="min-h-6 min-w-6 text-left hover:underline"
        onClick={() => setOpen(!isOpen)}
      >
        <span aria-hidden>{isOpen ? "▾ " : "▸ "}</span>
        <Name name={name} />
        {isOpen ? begin : `${begin} ${children.length} ${end}`}
      </button>
      {isOpen && (
        <>
          <div className="border-l pl-4">
            {children.slice(0, shown).map(([key, child], index) => (
              <Node key={index} node={child} depth={depth + 1} {...(key !== undefined && { name: key })} />
            ))}
            {children.length > shown && (
              <button
                type="button"
                className="text-accent underline"
                onClick={() => setShown(shown + atATime)}
              >
                {children.length - shown} more
              </button>
            )}
          </div>
          {end}
        </>
      )}
    </div>
  );
}
