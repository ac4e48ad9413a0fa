import { useQuery, useQueryClient, queryOptions } from "@tanstack/react-query";
import { Download, Terminal } from "lucide-react";
import { useMemo, useState } from "react";
import { Problem, sentenceOf } from "../api/problem.ts";
import { Button } from "../controls/Button.tsx";
import { Card } from "../controls/Card.tsx";
import { CopyButton } from "../controls/Copy.tsx";
import { copyText } from "../controls/copyText.ts";
import { toast } from "../controls/toasts.ts";
import { serviceUrl } from "../api/basePath.ts";
import { Loaded } from "../states/Loaded.tsx";
import { JsonTree } from "./JsonTree.tsx";
import { parseLossless } from "./losslessJson.ts";
import { readText } from "../api/client.ts";

/** Payloads with more characters are shown as a raw preview in place of a tree. */
const treeLimit = 256 * 1024;
const previewLength = 16 * 1024;

/** The payload, byte for byte. */
export function Payload({ id }: { id: string }) {
  const query = useQuery(payloadQuery(id));
  const isGone = query.error instanceof Problem && query.error.status === 410;
  if (isGone)
    return (
      <Card title="Payload">
        <p className="text-muted">The payload was erased, or is past its retention.</p>
      </Card>
    );
  return (
    <Card title="Payload" aside={query.data !== undefined && <PayloadActions id={id} text={query.data} />}>
      <Loaded query={query}>{(text) => <PayloadText text={text} />}</Loaded>
    </Card>
  );
}

/** A payload that is already loaded, such as a mailbox message's. */
export function PayloadText({ text }: { text: string }) {
  const [isRaw, setRaw] = useState(false);
  const tree = useMemo(() => (text.length > treeLimit ? undefined : parseLossless(text)), [text]);
  if (text.length > treeLimit)
    return (
      <>
        <p className="mb-2 text-muted">
          {Math.round(text.length / 1024)} KiB is too much for a tree: these are the first{" "}
          {previewLength / 1024} KiB. Download it to see the rest.
        </p>
        <Raw text={text.slice(0, previewLength)} />
      </>
    );
  return (
    <div className="grid gap-2">
      {tree === undefined || isRaw ? <Raw text={text} /> : <JsonTree node={tree} />}
      {tree !== undefined && (
        <button
          type="button"
          className="justify-self-start text-meta text-muted underline"
          onClick={() => setRaw(!isRaw)}
        >
          {isRaw ? "Show as a tree" : "Show raw"}
        </button>
      )}
    </div>
  );
}

function Raw({ text }: { text: string }) {
  return (
    <pre
      tabIndex={0}
      aria-label="Payload as sent"
      className="max-h-120 overflow-auto text-meta break-all whitespace-pre-wrap"
    >
      {text}
    </pre>
  );
}

/** Buttons that copy and download a payload. */
export function PayloadActions({ id, text }: { id: string; text: string }) {
  return (
    <div className="flex items-center gap-1">
      <CopyButton text={text} name="Copy the payload" />
      <Button
        look="quiet"
        icon={<Download size={14} aria-hidden />}
        onClick={() => download(`${id}.json`, text)}
      >
        Download
      </Button>
    </div>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** A button that copies a curl command, which sends this payload again. */
export function CopyAsCurl({ id, targetId, eventType }: { id: string; targetId: string; eventType: string }) {
  const queries = useQueryClient();
  async function copy(): Promise<void> {
    try {
      const text = await queries.query({ ...payloadQuery(id), staleTime: "static" });
      const command = asCurl(targetId, eventType, text.length > treeLimit ? undefined : text);
      const done = await copyText(command);
      toast({
        text: done ? "Copied as curl; set POSTRIDER_KEY to a key." : "The browser blocked copying.",
      });
    } catch (error) {
      toast({ text: sentenceOf(error) });
    }
  }
  return (
    <Button icon={<Terminal size={14} aria-hidden />} onClick={() => void copy()}>
      Copy as curl
    </Button>
  );
}

/**
 * The exact bytes of an item's payload, as text. They never change, but may be erased, so they are read again at each
 * opening.
 */
function payloadQuery(id: string) {
  return queryOptions({
    queryKey: ["payload", id],
    queryFn: async ({ signal }) => (await readText(`api/v1/events/${id}/payload`, { signal })).text(),
    refetchOnWindowFocus: false,
    gcTime: 60_000,
  });
}

/** A command that sends the same payload to the same target again, as a new item. It takes the key from `$POSTRIDER_KEY`. */
function asCurl(targetId: string, eventType: string, payload: string | undefined): string {
  const lines = [
    `curl ${serviceUrl}/t/${targetId}`,
    `  -H 'authorization: Bearer '"$POSTRIDER_KEY"`,
    `  -H 'content-type: application/json'`,
    ...(eventType === "" ? [] : [`  -H ${quote(`x-event-type: ${eventType}`)}`]),
    `  -d ${payload === undefined ? "@payload.json" : quote(payload)}`,
  ];
  return lines.join(" \\\n");
}

/** Quotes any text as one shell word. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
