import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ImportedEventTypes } from "../api/shapes.ts";
import { CodeArea } from "../controls/Field.tsx";
import { FormDialog } from "../controls/FormDialog.tsx";
import { toast } from "../controls/toasts.ts";
import { importEventTypes } from "./eventTypeQueries.ts";
import { jsonOf, jsonProblem } from "./jsonText.ts";

/** Imports event types from the webhooks of an OpenAPI document, after a preview. */
export function ImportDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [unreadable, setUnreadable] = useState<string>();
  const queries = useQueryClient();
  const documentOf = () =>
    jsonProblem(text) === undefined ? (jsonOf(text) as Record<string, unknown>) : text;
  const preview = useMutation({ mutationFn: () => importEventTypes(documentOf(), true) });
  const apply = useMutation({
    mutationFn: () => importEventTypes(documentOf(), false),
    onSuccess: ({ created, updated }) => {
      toast({ text: `${created.length} created, ${updated.length} updated.` });
      void queries.invalidateQueries({ queryKey: ["eventTypes"] });
    },
  });
  const give = (given: string) => {
    setText(given);
    setUnreadable(undefined);
    preview.reset();
    apply.reset();
  };
  const read = async (file: File) => {
    try {
      give(await file.text());
    } catch {
      setUnreadable(file.name);
    }
  };
  const isReady = text.trim() !== "";
  const found = preview.data;
  const isWorthIt = found !== undefined && found.created.length + found.updated.length > 0;
  return (
    <FormDialog
      title="Import event types"
      wide
      onClose={onClose}
      action={isWorthIt ? `Import ${found.created.length + found.updated.length}` : "Preview"}
      doing={{ isPending: preview.isPending || apply.isPending, error: preview.error ?? apply.error }}
      isReady={isReady && (found === undefined || isWorthIt)}
      onSubmit={() => (isWorthIt ? apply.mutate(undefined, { onSuccess: onClose }) : preview.mutate())}
    >
      <label className="grid gap-1">
        <span className="font-medium">An OpenAPI document from a file</span>
        <input
          type="file"
          accept=".json,.yaml,.yml,application/json,application/yaml"
          className="file:mr-2 file:h-8 file:rounded-control file:border file:border-control file:bg-surface file:px-3 file:font-medium hover:file:bg-sunken"
          // Clears the field, so that a file that was changed on disk can be chosen again.
          onClick={(event) => (event.currentTarget.value = "")}
          onChange={(event) => event.target.files?.[0] && void read(event.target.files[0])}
        />
      </label>
      {unreadable !== undefined && (
        <p role="alert" className="wrap-anywhere text-failed">
          {unreadable} cannot be read. It may have been moved or changed: choose it again.
        </p>
      )}
      <CodeArea
        label="The document"
        rows={8}
        value={text}
        hint="OpenAPI 3.1 or 3.2 as JSON or YAML: each of its webhooks becomes a type. Other types are not changed"
        onChange={(event) => give(event.target.value)}
      />
      {found !== undefined && <Preview found={found} />}
    </FormDialog>
  );
}

function Preview({ found }: { found: ImportedEventTypes }) {
  return (
    <div role="status" className="grid gap-2">
      <Names title="New" names={found.created} />
      <Names title="Updated" names={found.updated} />
      <Names title="Unchanged" names={found.unchanged} />
      {found.refused.length > 0 && (
        <section className="grid gap-1">
          <h3 className="font-medium">Refused: {found.refused.length}</h3>
          <ul className="grid max-h-48 gap-1 overflow-auto">
            {found.refused.map(({ name, reason }) => (
              <li key={name} className="wrap-anywhere">
                <code>{name}</code>: {reason}
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <section className="grid gap-1">
      <h3 className="font-medium">
        {title}: {names.length}
      </h3>
      <p className="max-h-32 overflow-auto text-meta wrap-anywhere text-muted">{names.join(", ")}</p>
    </section>
  );
}
